// One process of `npm run test:rules`: hunts the rules that its parent sends, one after the other, and reports each seed.
import { createHash } from '../../shared/bytes/hash.ts'
import { trySeed } from '../../shared/simulator/rules.ts'

// What `nextTick` runs comes behind every promise that can settle; a turn of the event loop now and then, for the parent.
let breaths = 0
const breathe = () =>
  new Promise(resolve => {
    if (++breaths % 4_096 === 0) setImmediate(resolve)
    else process.nextTick(resolve)
  })
const ports = { hash: await createHash(), breathe }

process.on('message', async ({ rule, seeds, first, plain }) => {
  // The seed of the record is looked at first: most of what is changed leaves it what it was.
  const order = Array.from({ length: seeds }, (_, index) => index + 1)
  if (first !== undefined) order.unshift(first)
  for (const [tried, seed] of order.entries()) {
    const trial = await trySeed(rule, BigInt(seed), ports, plain)
    process.send({ rule, seed, tried: tried + 1, trial })
    if (trial.kind === 'found') return
  }
  process.send({ rule, seed: seeds, tried: order.length, trial: { kind: 'given up' } })
})
process.send({ ready: true })
