import { createHash as sha } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHash } from '../../shared/bytes/hash.ts'
import { Offset } from '../../shared/bytes/units.ts'
import { CONSUMERS_MAX, consumersAnswer } from '../../shared/inspection/polls.ts'
import { DiskError } from '../../shared/storage/disk.ts'
import { encodeOffsetFile } from '../../shared/storage/offset-file.ts'
import { consumersOnDisk } from './consumer-files.ts'

const hash = await createHash()
const KEY = { stream: 0, topic: 1, partition: 2 }
const LARGE = 2n ** 53n + 1n
let root: string
const at = (name: string) => join(root, 'streams/0/topics/1/partitions/2/offsets', name)
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'consumers-'))
})
afterEach(() => rmSync(root, { recursive: true }))
const said = async () => consumersAnswer.parse(await consumersOnDisk(1, root, KEY, hash, false))

it('lists what is stored, to the digit, and tells what does not verify from what is not there', async () => {
  for (const folder of ['consumers', 'groups']) mkdirSync(at(folder), { recursive: true })
  const good = encodeOffsetFile(Offset(LARGE), hash)
  const bad = Uint8Array.from(good)
  bad[0]! ^= 1
  writeFileSync(at('consumers/10'), good)
  writeFileSync(at('consumers/9'), good.subarray(0, 8))
  writeFileSync(at('consumers/2'), good.subarray(0, 7))
  writeFileSync(at('consumers/3'), bad)
  writeFileSync(at('consumers/<img src=x onerror=alert(1)>'), good)
  writeFileSync(at('consumers/4294967296'), good)
  mkdirSync(at('consumers/4'))
  symlinkSync(at('consumers/10'), at('consumers/5'))
  writeFileSync(at('groups/0'), Buffer.concat([good, Buffer.alloc(1_000_000)]))
  const before = sha('sha256')
    .update(readFileSync(at('consumers/3')))
    .digest('hex')
  const { total, files, reporter } = await said()
  expect(reporter).toMatchObject({ node: 1, boot: 'directory' })
  expect(total).toBe(files.length)
  expect(files.map(({ kind, name, verdict, offset }) => [kind, name, verdict, offset])).toEqual([
    ['consumer', '2', 'torn', undefined],
    ['consumer', '3', 'corrupt', String(LARGE ^ 1n)],
    ['consumer', '4', 'no_file', undefined],
    ['consumer', '5', 'no_file', undefined],
    ['consumer', '9', 'legacy', String(LARGE)],
    ['consumer', '10', 'valid', String(LARGE)],
    ['consumer', '4294967296', 'foreign', undefined],
    ['consumer', '<img src=x onerror=alert(1)>', 'foreign', undefined],
    ['group', '0', 'valid', String(LARGE)],
  ])
  const corrupt = files.find(({ verdict }) => verdict === 'corrupt')!
  expect(corrupt.stored).toMatch(/^[0-9a-f]{16}$/)
  expect(corrupt.computed).not.toBe(corrupt.stored)
  expect(
    sha('sha256')
      .update(readFileSync(at('consumers/3')))
      .digest('hex'),
  ).toBe(before)
})

it('has nothing to say of a partition that is not there, and makes no directory', async () => {
  expect((await said()).files).toEqual([])
  expect(() => statSync(join(root, 'streams'))).toThrow()
})

it('one answer is bounded, and says of how many', async () => {
  mkdirSync(at('consumers'), { recursive: true })
  for (let id = 0; id < CONSUMERS_MAX + 5; id++)
    writeFileSync(at(`consumers/${id}`), encodeOffsetFile(Offset(1n), hash))
  const { total, files } = await said()
  expect([total, files.length, files.at(-1)!.name]).toEqual([
    CONSUMERS_MAX + 5,
    CONSUMERS_MAX,
    String(CONSUMERS_MAX - 1),
  ])
})

it('a file in the place of the folder is no empty list', async () => {
  mkdirSync(at(''), { recursive: true })
  writeFileSync(at('consumers'), 'x')
  await expect(said()).rejects.toBeInstanceOf(DiskError)
})
