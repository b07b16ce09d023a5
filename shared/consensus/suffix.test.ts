import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { createHash, type Hash } from '../bytes/hash.ts'
import { Op } from '../bytes/units.ts'
import { commandName } from '../protocol/commands.ts'
import { encodeSuffix } from '../protocol/frames.ts'
import type { PrepareHeader } from '../protocol/headers.ts'
import { doViewChangeLayout, startViewLayout } from '../protocol/headers.ts'
import { goldenAbsent, goldenFrames } from '../protocol/testing/golden.ts'
import { buildSuffix, decodeDvcSuffix, decodeHeaders, encodeDvcSuffix } from './suffix.ts'
import { chainOf, sealedHeader } from './testing/headers.ts'

let hash: Hash
beforeAll(async () => {
  hash = await createHash()
})

const source = (
  log: readonly (PrepareHeader | undefined)[],
  announced: readonly PrepareHeader[] = [],
  lostTo = 0n,
) => ({
  held: (op: Op) => log[Number(op) - 1],
  announced: (op: Op) => announced[Number(op) - 1],
  lostTo: Op(lostTo),
})

describe('the suffix of a DoViewChange', () => {
  it('goes from the head down to the commit, and a missing op is nacked only above the commit', () => {
    const log = chainOf(hash, 6)
    const holes = log.map(header => (header.op === 4n || header.op === 6n ? undefined : header))
    const suffix = buildSuffix(Op(6n), Op(4n), source(holes))
    expect(suffix.map(({ op, nack, present }) => [op, nack, present])).toEqual([
      [6n, true, false],
      [5n, false, true],
      [4n, false, false],
    ])
  })

  it('an announced header without its body carries the header and the nack', () => {
    const log = chainOf(hash, 3)
    const [head] = buildSuffix(Op(3n), Op(2n), source(log.slice(0, 2), log))
    expect(head).toMatchObject({ header: { checksum: log[2]!.checksum }, nack: true, present: false })
  })

  it('an op that may be lost is blank without bits', () => {
    const [head, below] = buildSuffix(Op(4n), Op(2n), source(chainOf(hash, 2), [], 4n))
    expect([head, below]).toEqual([
      { op: 4n, header: undefined, nack: false, present: false },
      { op: 3n, header: undefined, nack: false, present: false },
    ])
  })

  it('is at most 128 entries deep, and empty when there is nothing to say', () => {
    const log = chainOf(hash, 140)
    const suffix = buildSuffix(Op(140n), Op(2n), source(log))
    expect([suffix.length, suffix[0]?.op, suffix[127]?.op]).toEqual([128, 140n, 13n])
    expect(buildSuffix(Op(0n), Op(0n), source([]))).toEqual([])
    expect(buildSuffix(Op(3n), Op(4n), source(log))).toEqual([])
  })

  it('survives the wire, whatever is held', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.nat(40),
        fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }),
        (op, commit, holds) => {
          const log = chainOf(hash, op).map((header, index) => (holds[index] ? header : undefined))
          const suffix = buildSuffix(Op(BigInt(op)), Op(BigInt(Math.min(commit, op))), source(log))
          const { body, nackBitset, presentBitset } = encodeDvcSuffix(suffix)
          expect(decodeDvcSuffix(hash, { op: Op(BigInt(op)), nackBitset, presentBitset }, body)).toEqual(suffix)
        },
      ),
      { numRuns: 200, seed: 7 },
    )
  })

  it('VC-12 any flipped bit makes it undecodable or leaves it as it was, and mixed views are no fault', () => {
    const log = chainOf(hash, 4)
    const body = encodeSuffix([...log].reverse())
    const viewByte = (at: number) => at % 256 >= 52 && at % 256 < 56
    for (let at = 0; at < body.length; at += 3) {
      const flipped = body.slice()
      flipped[at]! ^= 1 << (at % 8)
      const decoded = decodeHeaders(hash, Op(4n), flipped)
      if (viewByte(at)) expect(decoded).toHaveLength(4)
      else expect(decoded, `byte ${at}`).toBeUndefined()
    }
  })

  it('refuses an op out of order, a time that does not rise and a broken parent', () => {
    const log = chainOf(hash, 3)
    expect(decodeHeaders(hash, Op(4n), encodeSuffix([...log].reverse()))).toBeUndefined()
    const fork = chainOf(hash, 3, 2)
    expect(decodeHeaders(hash, Op(3n), encodeSuffix([log[2]!, fork[1]!]))).toBeUndefined()
    const late = sealedHeader(hash, { op: 9n, parent: 0n }).header
    const early = sealedHeader(hash, { op: 8n, parent: 0n }).header
    expect(decodeHeaders(hash, Op(9n), encodeSuffix([late]))).toHaveLength(1)
    expect(
      decodeHeaders(hash, Op(8n), encodeSuffix([{ ...early, timestamp: late.timestamp, checksum: log[0]!.checksum }])),
    ).toBeUndefined()
  })
})

describe.skipIf(goldenAbsent)('recorded view changes', () => {
  it('every recorded suffix decodes, and encodes to the same bytes and bits', () => {
    let votes = 0
    let starts = 0
    for (const file of ['three-replica.jsonl', 'transfer-replica.jsonl', 'checkpoint-replica.jsonl']) {
      for (const frame of goldenFrames(file)) {
        const name = commandName(frame.command)
        if (name !== 'DoViewChange' && name !== 'StartView') continue
        if (!frame.body) continue
        if (name === 'StartView') {
          const header = startViewLayout.decode(frame.header)
          expect(decodeHeaders(hash, header.op, frame.body), frame.where).toBeDefined()
          starts++
          continue
        }
        const header = doViewChangeLayout.decode(frame.header)
        const suffix = decodeDvcSuffix(hash, header, frame.body)
        expect(suffix, frame.where).toBeDefined()
        expect(encodeDvcSuffix(suffix!), frame.where).toEqual({
          body: frame.body,
          nackBitset: header.nackBitset,
          presentBitset: header.presentBitset,
        })
        votes++
      }
    }
    expect([votes > 0, starts > 0]).toEqual([true, true])
  })
})
