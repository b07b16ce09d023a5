/** The command over real directories: exit status, output, and that not a byte, name or time changes. */
import { execFileSync } from 'node:child_process'
import { createHash as digestOf } from 'node:crypto'
import { chmod, cp, lstat, mkdir, mkdtemp, open, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { goldenAbsent, goldenRoot } from '../../shared/protocol/testing/golden.ts'
import { lockDirectory, NODE_LOCK } from '../node/directory-lock.ts'
import { runInspect } from './inspect.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'inspect-'))
})
afterEach(async () => {
  execFileSync('chmod', ['-R', 'u+rwX', root])
  await rm(root, { recursive: true })
})

async function run(dir: string, options: { verify?: boolean; json?: boolean } = {}) {
  let text = ''
  let errors = ''
  const out = { write: (more: string) => (text += more) }
  const err = { write: (more: string) => (errors += more) }
  const status = await runInspect(dir, { verify: options.verify ?? true, json: options.json ?? true }, out, err)
  return { status, text, errors, json: options.json === false ? undefined : JSON.parse(text) }
}

/** Name, kind, size, mtime, ctime and digest of everything below `dir`. */
async function traces(dir: string): Promise<string[]> {
  const found: string[] = []
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const stat = await lstat(path, { bigint: true })
    const digest = stat.isFile()
      ? digestOf('sha256')
          .update(await readFile(path))
          .digest('hex')
      : ''
    found.push([path, stat.mode, stat.size, stat.mtimeNs, stat.ctimeNs, digest].join(' '))
  }
  return found.sort()
}

describe.skipIf(goldenAbsent)('inspect of a real directory', () => {
  const copy = async (node: string): Promise<string> => {
    const dir = join(root, 'node')
    await cp(join(goldenRoot, node), dir, { recursive: true })
    execFileSync('chmod', ['-R', 'u+w', dir])
    return dir
  }

  it('says what a boot would do, refuses a superblock without a reservation by name, and leaves no trace', async () => {
    const dir = await copy('three-clean/node-1')
    const before = await traces(dir)
    let text = ''
    const out = { write: (more: string) => (text += more) }
    expect(await runInspect(dir, { verify: false, json: true, plan: true }, out, out)).toBe(1)
    expect(JSON.parse(text)).toMatchObject({ ok: false, verdict: 'WrongLength', writes: [] })
    text = ''
    await runInspect(dir, { verify: false, json: false, plan: true, assumeUnreserved: true }, out, out)
    expect(text).toMatch(/^verdict: (?!WrongLength)/m)
    expect(await traces(dir)).toEqual(before)
  })

  it('plans through links as a boot would go: a linked directory is followed, a linked file is not', async () => {
    const dir = await copy('solo-clean/node-0')
    const partition = join(dir, 'streams/1/topics/0/partitions/0')
    const planned = async () => {
      let text = ''
      const out = { write: (more: string) => (text += more) }
      const status = await runInspect(dir, { verify: false, json: false, plan: true }, out, out)
      return { status, text }
    }
    await cp(partition, join(root, 'elsewhere'), { recursive: true })
    await rm(partition, { recursive: true })
    await symlink(join(root, 'elsewhere'), partition)
    const followed = await planned()
    expect(followed.status).toBe(0)
    expect(followed.text).toMatch(/^ {2}counter .*partitions\/0 {2}next=\d+/m)
    const index = join(root, 'elsewhere/00000000000000000000.index')
    await cp(index, join(root, 'moved.index'))
    await rm(index)
    await symlink(join(root, 'moved.index'), index)
    const refused = await planned()
    expect(refused.status).toBe(1)
    expect(refused.text).toMatch(/^verdict: PartitionUnreadable: .*\.index: Io \(ELOOP\)$/m)
    expect(refused.text).toMatch(/^advice: .*no link is followed$/m)
  })

  it('plans no boot beside a process that runs on the directory', async () => {
    const dir = await copy('solo-clean/node-0')
    const lock = lockDirectory(dir, NODE_LOCK)
    let text = ''
    const out = { write: (more: string) => (text += more) }
    expect(await runInspect(dir, { verify: false, json: false, plan: true }, out, out)).toBe(1)
    expect(text).toContain(`process ${process.pid} runs on this directory`)
    lock.release()
    expect(await runInspect(dir, { verify: false, json: true, plan: true }, out, out)).toBe(0)
  })

  it('exits 0 over a sound one, with one JSON object, and leaves no trace', async () => {
    const dir = await copy('three-clean/node-1')
    const before = await traces(dir)
    const { status, json } = await run(dir)
    expect(status).toBe(0)
    expect(json).toMatchObject({ ok: true, directory: dir, verified: true, counts: { batches: 94, walEntries: 13 } })
    expect(json.findings.length).toBe(10)
    for (const finding of json.findings) {
      expect(Object.keys(finding).sort()).toEqual(['check', 'code', 'message', 'path', 'position', 'severity'])
    }
    expect(await traces(dir)).toEqual(before)
  })

  it('exits 1 over a damaged one, names the place in text and JSON, and leaves no trace', async () => {
    const dir = await copy('three-clean/node-1')
    const path = 'streams/1/topics/0/partitions/0/00000000000000000000.log'
    const file = await open(join(dir, path), 'r+')
    await file.write(Uint8Array.of(0xff), 0, 1, 310)
    await file.close()
    const before = await traces(dir)
    const { status, json } = await run(dir)
    expect(status).toBe(1)
    expect(json.findings.filter((finding: { severity: string }) => finding.severity === 'damage')).toMatchObject([
      { code: 'SEGMENT_DAMAGED', path, position: 256, check: 'message_checksum' },
    ])
    const { text, status: textStatus } = await run(dir, { json: false })
    expect(textStatus).toBe(1)
    expect(text).toContain(`DAMAGE  SEGMENT_DAMAGED  ${path} at byte 256 (message_checksum)`)
    expect(await traces(dir)).toEqual(before)
  })

  it('follows no link, stops at no fifo, and lists what it does not know', async () => {
    const dir = await copy('solo-clean/node-0')
    await mkdir(join(root, 'outside'))
    await writeFile(join(root, 'outside/00000000000000000000.log'), 'secret')
    await symlink(join(root, 'outside'), join(dir, 'streams/7'))
    await symlink('.', join(dir, 'streams/0/topics/9'))
    await symlink(
      join(root, 'outside/00000000000000000000.log'),
      join(dir, 'streams/1/topics/0/partitions/0/00000000000000000022.log'),
    )
    execFileSync('mkfifo', [join(dir, 'metadata/superblock.a')])
    await writeFile(join(dir, 'notes.txt'), 'x')
    await writeFile(join(dir, 'metadata/superblock.b.tmp'), 'x')
    const { status, json, text } = await run(dir)
    expect(status).toBe(1)
    const codes = json.findings.map((finding: { code: string; path: string }) => `${finding.code} ${finding.path}`)
    expect(codes).toEqual(
      expect.arrayContaining([
        'NOT_A_DIRECTORY streams/7',
        'NOT_A_DIRECTORY streams/0/topics/9',
        'READ_FAILED streams/1/topics/0/partitions/0/00000000000000000022.log',
        'READ_FAILED metadata/superblock.a',
        'UNKNOWN_NAME notes.txt',
        'LEFTOVER metadata/superblock.b.tmp',
      ]),
    )
    expect(text).not.toContain('secret')
  })

  it.skipIf(process.getuid?.() === 0)('names files that it may not read', async () => {
    const dir = await copy('solo-clean/node-0')
    await chmod(join(dir, 'metadata/journal.wal'), 0)
    const { status, json } = await run(dir)
    expect(status).toBe(1)
    expect(json.findings).toMatchObject([{ code: 'READ_FAILED', path: 'metadata/journal.wal', check: 'io' }])
  })

  it('reads a huge sparse segment in bounded memory', async () => {
    const dir = await copy('solo-clean/node-0')
    const path = join(dir, 'streams/1/topics/0/partitions/0/00000000000000000000.log')
    const file = await open(path, 'r+')
    await file.truncate(256 * 1024 * 1024)
    await file.close()
    const before = process.memoryUsage().arrayBuffers
    const { status, json } = await run(dir)
    expect(status).toBe(1)
    expect(json.findings).toMatchObject([{ code: 'SEGMENT_TAIL_TORN', position: 4679 + 32, check: 'batch_length' }])
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024)
  })
})

describe('inspect of what is no node directory', () => {
  it('exits 2 with a message that says what is wanted', async () => {
    for (const [name, expected] of [
      ['absent', 'cannot be read as a directory'],
      ['file', 'cannot be read as a directory'],
      ['empty', 'neither metadata nor streams'],
    ] as const) {
      const dir = join(root, name)
      if (name === 'file') await writeFile(dir, 'x')
      if (name === 'empty') await mkdir(dir)
      const { status, json } = await run(dir)
      expect([status, json.ok], name).toEqual([2, false])
      expect(json.error.message, name).toContain(expected)
      const asText = await run(dir, { json: false })
      expect(asText.status).toBe(2)
      expect(asText.errors).toContain(expected)
      expect(asText.text).toBe('')
      // A plan says the same of a path that is none; an empty directory belongs to nobody.
      let planned = ''
      const out = { write: (more: string) => (planned += more) }
      expect(await runInspect(dir, { verify: false, json: false, plan: true }, out, out)).toBe(2)
      expect(planned).toContain(name === 'empty' ? 'whose directory this is' : expected)
    }
  })
})
