import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { linkStatus } from '../../../shared/inspection/links.ts'
import { Command } from '../../../shared/protocol/commands.ts'
import { HELD_FRAMES_MAX } from './link-way.ts'
import { commit, hello, Link, prepare, told, until } from './testing/link-ends.ts'

let link: Link
beforeEach(async () => {
  link = await Link.open()
})
afterEach(() => link.close())

const joined = (frames: readonly Uint8Array[]): Uint8Array => Buffer.concat(frames)
const out = () => link.links.status().find(({ from }) => from === 0)!
const back = () => link.links.status().find(({ from }) => from === 1)!
/** A frame that nothing is ever done to ends each test: what has not come before it will not come. */
const END = 999
const arrived = (frames: { told: readonly string[] }) => until(() => frames.told.at(-1) === `Commit ${END}`)

describe('with nothing set', () => {
  it('every byte passes, whatever the cuts between chunks, both ways', async () => {
    const { zero, one } = await link.dial()
    const frames = Array.from({ length: 60 }, (_, op) => (op % 3 === 0 ? commit(op) : prepare(op, op * 37)))
    const bytes = joined(frames)
    let at = 0
    for (let step = 1; at < bytes.length; step = (step * 7) % 611) {
      zero.socket.write(bytes.subarray(at, at + step))
      at += step
      if (step % 5 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    one.socket.write(joined([prepare(7), commit(END)]))
    await until(() => one.frames.length === 61)
    await arrived(zero)
    expect(Buffer.compare(joined(one.frames.slice(1)), bytes)).toBe(0)
    expect(zero.told).toEqual(['Prepare 7', `Commit ${END}`])
    expect(out()).toMatchObject({ connected: true, id: '0>1#ab', faults: [], counters: { frames: 61 } })
    expect(out().counters.bytes).toBe(bytes.length + 256)
    expect(back().id).toBe('1>0#ab')
    expect(link.events).toEqual([])
    for (const status of link.links.status()) linkStatus.parse(status)
  })

  it('a peer that is not there is not there, and the end of one side is the end of the other', async () => {
    const { zero, one } = await link.dial()
    one.socket.destroy()
    await once(zero.socket, 'close')
    link.links.follow(1, false)
    const failed = link.connect()
    await new Promise(resolve => setTimeout(resolve, 20))
    link.links.follow(1, true)
    // It tried until the proxy listened again.
    expect((await failed).socket.destroyed).toBe(false)
    await until(() => link.accepted.length === 2)
    link.accepted[1]!.socket.end(prepare(1))
    const second = await failed
    await once(second.socket, 'end')
    expect(second.told).toEqual(['Prepare 1'])
  })

  it('bytes that are no frames pass too: whoever reads them says so', async () => {
    const { zero, one } = await link.dial()
    one.socket.removeAllListeners('data')
    const seen: Uint8Array[] = []
    one.socket.on('data', chunk => seen.push(chunk))
    const noise = new Uint8Array(1_000).fill(0xff)
    zero.socket.write(noise.subarray(0, 100))
    await new Promise(resolve => setTimeout(resolve, 20))
    zero.socket.write(noise.subarray(100))
    await until(() => joined(seen).length === 1_000)
    expect(Buffer.compare(joined(seen), noise)).toBe(0)
  })

  it('a reader that stands still stops its writer', async () => {
    const { zero, one } = await link.dial()
    one.socket.pause()
    const block = prepare(1, 1024 * 1024)
    let written = 0
    while (written < 256 && zero.socket.write(block)) written++
    await until(() => zero.socket.writableNeedDrain)
    // The kernel and this process hold a few MiB, far from all of it.
    for (; written < 64; written++) zero.socket.write(block)
    await new Promise(resolve => setTimeout(resolve, 100))
    expect(out().counters.bytes).toBeLessThan(48 * 1024 * 1024)
    one.socket.resume()
    zero.socket.write(commit(END))
    await arrived(one)
  })
})

describe('a cut', () => {
  it('loses one way in silence, tells of it, and heals', async () => {
    const { zero, one } = await link.dial()
    link.links.cut(0, 1)
    zero.socket.write(joined([prepare(1), commit(2)]))
    one.socket.write(commit(END))
    await arrived(zero)
    await until(() => out().counters.dropped === 2)
    link.links.heal(0, 1)
    zero.socket.write(joined([prepare(3), commit(END)]))
    await arrived(one)
    expect(one.told.slice(1)).toEqual(['Prepare 3', `Commit ${END}`])
    expect(link.events.filter(({ kind }) => kind === 'link_frame_dropped')).toMatchObject([
      {
        class: 'flow',
        plane: 'metadata',
        op: '1',
        link: { id: '0>1#ab', ordinal: 1, dir: 'out' },
        data: { from: 0, to: 1, command: 'Prepare', bytes: 1_256, reason: 'cut' },
      },
      { op: '2', link: { ordinal: 2 }, data: { command: 'Commit' } },
    ])
    expect(link.events.map(({ kind }) => kind)).toEqual([
      'link_cut',
      'link_frame_dropped',
      'link_frame_dropped',
      'link_healed',
    ])
  })

  it('begins and ends between frames, never inside one', async () => {
    const { zero, one } = await link.dial()
    const [first, second, third] = [prepare(1, 5_000), prepare(2, 5_000), prepare(3, 5_000)]
    zero.socket.write(first.subarray(0, 3_000))
    await until(() => out().counters.bytes === 3_256)
    link.links.cut(0, 1)
    zero.socket.write(joined([first.subarray(3_000), second.subarray(0, 2_000)]))
    await until(() => out().counters.dropped === 1)
    link.links.heal(0, 1)
    zero.socket.write(joined([second.subarray(2_000), third, commit(END)]))
    await arrived(one)
    expect(one.told.slice(1)).toEqual(['Prepare 1', 'Prepare 3', `Commit ${END}`])
    expect(one.frames[1]).toEqual(first)
  })

  it('takes the commands and the number it was told, and one command can be mended by itself', async () => {
    const { zero, one } = await link.dial()
    link.links.cut(0, 1, { commands: [Command.Prepare], count: 2 })
    zero.socket.write(joined([commit(1), prepare(2), prepare(3), prepare(4)]))
    await until(() => one.told.at(-1) === 'Prepare 4')
    expect(out().faults).toEqual([])
    link.links.cut(0, 1, { commands: [Command.Prepare] })
    link.links.cut(0, 1, { commands: [Command.PrepareOk] })
    link.links.mend(0, 1, Command.Prepare)
    expect(out().faults).toEqual([{ fault: 'cut', name: '', commands: ['PrepareOk'] }])
    zero.socket.write(joined([prepare(5), commit(END)]))
    await arrived(one)
    expect(one.told.slice(1)).toEqual(['Commit 1', 'Prepare 4', 'Prepare 5', `Commit ${END}`])
  })

  it('a flood of lost frames becomes a few events, which say how many more there were', async () => {
    const { zero, one } = await link.dial()
    link.links.cut(0, 1)
    for (let op = 0; op < 100; op++) zero.socket.write(commit(op))
    await until(() => out().counters.dropped === 100)
    await new Promise(resolve => setTimeout(resolve, 1_100))
    zero.socket.write(commit(100))
    await until(() => out().counters.dropped === 101)
    link.links.heal(0, 1)
    zero.socket.write(commit(END))
    await arrived(one)
    const dropped = link.events.filter(({ kind }) => kind === 'link_frame_dropped')
    expect(dropped.length).toBeLessThan(60)
    const omitted = dropped.reduce((sum, { data }) => sum + Number(data.omitted ?? 0), 0)
    expect(dropped.length + omitted).toBe(101)
  })
})

describe('a hold', () => {
  it('keeps frames while others pass, lets them go one at a time, and all at its end', async () => {
    const { zero, one } = await link.dial()
    link.links.hold(0, 1, 'votes', { commands: [Command.Prepare] })
    zero.socket.write(joined([prepare(1), commit(2), prepare(3), prepare(4, 100_000), commit(5)]))
    await until(() => one.told.at(-1) === 'Commit 5')
    expect(out().heldFrames).toMatchObject([
      { number: 1, hold: 'votes', command: 'Prepare', op: '1', link: { id: '0>1#ab', ordinal: 1 } },
      { number: 2, op: '3', link: { ordinal: 3 } },
      { number: 3, op: '4', sizeBytes: 100_256 },
    ])
    expect(link.links.release(0, 1, { name: 'votes', count: 1 })).toBe(1)
    await until(() => one.told.at(-1) === 'Prepare 1')
    zero.socket.write(prepare(6))
    await until(() => out().heldFrames.length === 3)
    expect(link.links.release(0, 1, { name: 'votes' })).toBe(3)
    zero.socket.write(joined([prepare(7), commit(END)]))
    await arrived(one)
    expect(one.told.slice(1)).toEqual([
      'Commit 2',
      'Commit 5',
      'Prepare 1',
      'Prepare 3',
      'Prepare 4',
      'Prepare 6',
      'Prepare 7',
      `Commit ${END}`,
    ])
    expect(out()).toMatchObject({ faults: [], heldFrames: [], counters: { held: 4, released: 4, dropped: 0 } })
    const told = link.events.map(({ kind, op }) => [kind, op])
    expect(told.filter(([kind]) => kind === 'link_frame_released').map(([, op]) => op)).toEqual(['1', '3', '4', '6'])
  })

  it('lets go into the middle of nothing: a released frame waits for the end of the one that passes', async () => {
    const { zero, one } = await link.dial()
    link.links.hold(0, 1, 'one', { commands: [Command.Prepare], count: 1 })
    zero.socket.write(prepare(1))
    await until(() => out().heldFrames.length === 1)
    const long = prepare(2, 9_000)
    zero.socket.write(long.subarray(0, 4_000))
    await until(() => out().counters.frames === 3)
    link.links.release(0, 1)
    zero.socket.write(joined([long.subarray(4_000), commit(END)]))
    await arrived(one)
    expect(one.told.slice(1)).toEqual(['Prepare 2', 'Prepare 1', `Commit ${END}`])
    expect(one.frames[1]).toEqual(long)
  })

  it('outlives its connection: a frame of a former life reaches the next', async () => {
    const { zero, one } = await link.dial(1)
    link.links.hold(0, 1, 'late', { commands: [Command.Prepare] })
    zero.socket.write(prepare(1))
    await until(() => out().heldFrames.length === 1)
    zero.socket.destroy()
    await once(one.socket, 'close')
    await until(() => !out().connected)
    expect(() => link.links.release(0, 1)).toThrow(expect.objectContaining({ code: 'LinkDown' }))
    expect(out().heldFrames).toHaveLength(1)
    const next = await link.dial(2)
    link.links.release(0, 1)
    await until(() => next.one.frames.length === 2)
    expect(next.one.told[1]).toBe('Prepare 1')
    expect(link.events.at(-1)).toMatchObject({ kind: 'link_frame_released', link: { id: '0>1#1', ordinal: 1 } })
  })

  it('has room for so many frames and drops the rest aloud', async () => {
    const { zero, one } = await link.dial()
    link.links.hold(0, 1, 'all', { commands: [Command.Prepare] })
    for (let op = 0; op < HELD_FRAMES_MAX + 3; op++) zero.socket.write(prepare(op, 0))
    await until(() => out().counters.dropped === 3)
    expect(out().heldFrames).toHaveLength(HELD_FRAMES_MAX)
    expect(link.events.at(-1)).toMatchObject({ kind: 'link_frame_dropped', data: { reason: 'hold_full' } })
    link.links.heal(0, 1)
    zero.socket.write(commit(END))
    await arrived(one)
    expect(one.frames).toHaveLength(HELD_FRAMES_MAX + 2)
  })
})

describe('a delay', () => {
  it('keeps the order, and ends for those that wait when it ends', async () => {
    const { zero, one } = await link.dial()
    link.links.delay(0, 1, 30, 30)
    for (let op = 0; op < 50; op++) zero.socket.write(op % 2 ? commit(op) : prepare(op))
    await until(() => one.frames.length === 51)
    expect(one.told.slice(1).map(text => Number(text.split(' ')[1]))).toEqual(Array.from({ length: 50 }, (_, op) => op))
    expect(out().counters.delayed).toBe(50)
    link.links.delay(0, 1, 3_600_000)
    zero.socket.write(prepare(50))
    await until(() => out().counters.delayed === 51)
    expect(one.frames).toHaveLength(51)
    link.links.delay(0, 1, 0)
    zero.socket.write(commit(END))
    await arrived(one)
    expect(one.told.slice(-2)).toEqual(['Prepare 50', `Commit ${END}`])
  })

  it('is of one way only', async () => {
    const { zero, one } = await link.dial()
    link.links.delay(0, 1, 3_600_000)
    one.socket.write(commit(END))
    await arrived(zero)
    expect(back().counters.delayed).toBe(0)
  })
})

it('a doubled frame comes twice, and says so once', async () => {
  const { zero, one } = await link.dial()
  link.links.double(0, 1, { commands: [Command.Prepare], count: 1 })
  zero.socket.write(joined([prepare(1), prepare(2), commit(END)]))
  await arrived(one)
  expect(one.told.slice(1)).toEqual(['Prepare 1', 'Prepare 1', 'Prepare 2', `Commit ${END}`])
  expect(link.events.at(-1)).toMatchObject({
    kind: 'link_frame_doubled',
    op: '1',
    link: { ordinal: 1 },
    data: { command: 'Prepare' },
  })
})

it('handshakes are not counted as frames of the link, and are cut only with everything', async () => {
  link.links.hold(0, 1, 'x', {})
  const { zero, one } = await link.dial(5)
  zero.socket.write(prepare(1))
  await until(() => out().heldFrames.length === 1)
  expect(out().heldFrames[0]!.link).toEqual({ id: '0>1#5', ordinal: 1 })
  expect(one.told).toHaveLength(1)
  link.links.heal(0, 1)
  link.links.cut(0, 1)
  const stranger = await link.connect()
  stranger.socket.write(hello(6))
  await until(() => link.accepted.length === 2 && out().counters.dropped === 1)
  expect(link.accepted[1]!.frames).toEqual([])
  expect(out().id).toBe('0>1#5')
  expect(told(one.frames[1]!)).toBe('Prepare 1')
})

it('there is no link that nobody has', () => {
  expect(() => link.links.cut(0, 2)).toThrow(expect.objectContaining({ code: 'NoSuchLink' }))
  expect(() => link.links.heal(1, 1)).toThrow(expect.objectContaining({ code: 'NoSuchLink' }))
})
