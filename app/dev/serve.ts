/**
 * Vite's dev server before a made-up cluster: `npx tsx app/dev/serve.ts [scene]`. For looking at moments that are hard to
 * catch on a real one; nothing of it is built into the page.
 */
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'vite'
import { toHex } from '../../shared/bytes/hex.ts'
import type { StreamMessage } from '../../shared/inspection/api.ts'
import { FixtureCluster, nowUs, SCENES, type Scene } from './fixture-cluster.ts'

const scene = (process.argv[2] ?? 'healthy') as Scene
if (!SCENES.includes(scene)) throw new Error(`scenes are ${SCENES.join(', ')}`)
const cluster = new FixtureCluster(scene)
const streams = new Set<ServerResponse>()

const send = (message: StreamMessage): void => {
  const text = `event: ${message.event}\nid: ${cluster.seq}\ndata: ${JSON.stringify(message.data)}\n\n`
  for (const stream of streams) stream.write(text)
}
const allNodes = (): StreamMessage => ({ event: 'nodes', data: [0, 1, 2].map(id => cluster.node(id, false)) })
const snapshotOf = (node: number): StreamMessage => ({
  event: 'snapshot',
  data: { seq: cluster.seq, node, receivedWallUs: nowUs(), snapshot: cluster.snapshot(node) },
})
const answering = (): number[] => [0, 1, 2].filter(id => !cluster.down(id) && !cluster.paused.has(id))

function answer(request: IncomingMessage, response: ServerResponse): unknown {
  const url = new URL(request.url ?? '/', 'http://fixture')
  const json = (body: unknown, status = 200): void => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }
  const path = url.pathname
  if (path === '/api/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    streams.add(response)
    request.on('close', () => streams.delete(response))
    send({
      event: 'hello',
      data: {
        run: 'fixture',
        seq: cluster.seq,
        firstSeq: 1,
        wallUs: nowUs(),
        readOnly: false,
        replicaCount: 3,
        name: 'fixture-local',
      },
    })
    send(allNodes())
    // A dead node said something before it died.
    for (const node of [0, 1, 2]) send(snapshotOf(node))
    return send({ event: 'load', data: cluster.load() })
  }
  if (path === '/api/clusters/current') return json(cluster.current())
  if (path === '/api/topics') return json(cluster.topics())
  if (path === '/api/load') {
    if (request.method === 'POST') cluster.loadRuns = !cluster.loadRuns
    return json(cluster.load())
  }
  const act = /^\/api\/nodes\/(\d)\/(kill|terminate|pause|resume|start)$/.exec(path)
  if (act && request.method === 'POST') {
    const id = Number(act[1])
    if (act[2] === 'start' || act[2] === 'resume') {
      cluster.stopped.delete(id)
      cluster.paused.delete(id)
    } else if (act[2] === 'pause') cluster.paused.add(id)
    else cluster.stopped.set(id, Date.now())
    send(allNodes())
    return json({ action: act[2], repeated: false, node: cluster.node(id), command: `kill ${act[2]}` })
  }
  const node = /^\/api\/nodes\/(\d)\/(.*)$/.exec(path)
  if (!node)
    return json({ code: 'CON_NO_SUCH_THING', message: `No ${path} here.`, advice: 'Look at the address.' }, 404)
  const id = Number(node[1])
  if (cluster.down(id))
    return json({ code: 'CON_NODE_DOWN', message: `node-${id} cannot be reached.`, advice: 'Start it.' }, 503)
  const rest = node[2]!
  const group = /^groups\/(\d+)$/.exec(rest)
  if (group) return json({ reporter: cluster.reporter(id), group: cluster.group(id, group[1]!) })
  if (rest === 'superblocks') return json(cluster.superblocks(id))
  if (rest === 'recovery') return json(cluster.recovery(id))
  if (rest === 'wal')
    return json({
      reporter: cluster.reporter(id),
      slots: 1024,
      snapshotOp: '0',
      lastOp: '41',
      sizeBytes: 10_496,
      entries: Array.from({ length: 41 }, (_, op) => ({
        op: String(op + 1),
        view: 0,
        operation: op % 3 === 0 ? 1 : 132,
        checksum: 'a1b2c3d4',
        parent: '99aa',
        positionBytes: op * 256,
        lengthBytes: 256,
        timestamp: nowUs(),
      })),
    })
  if (rest === 'clients')
    return json({
      reporter: cluster.reporter(id),
      connections: [{ connection: 3, address: '127.0.0.1:50112', user: 1, client: '55', session: '12' }],
      table: [{ client: '55', session: '12', user: 1, watermark: '40', cachedReplies: 1, latestCommit: '40' }],
    })
  const partition = /^partitions\/0\/0\/(\d)(?:\/segments\/(\d+)\/(index|batches|bytes))?$/.exec(rest)
  if (partition) {
    const p = Number(partition[1])
    const base = partition[2]
    if (base === undefined) return json(cluster.partition(id, p))
    if (partition[3] === 'index') return json(cluster.index(id, p, base))
    if (partition[3] === 'batches')
      return json(
        cluster.batches(id, p, base, Number(url.searchParams.get('from')), Number(url.searchParams.get('limit'))),
      )
    const position = Number(url.searchParams.get('position'))
    const length = Number(url.searchParams.get('length'))
    return json({
      reporter: cluster.reporter(id),
      path: `${base.padStart(20, '0')}.log`,
      positionBytes: position,
      sizeBytes: 1 << 20,
      hex: toHex(cluster.bytes(base, position, length)),
    })
  }
  return json({ code: 'CON_NO_SUCH_THING', message: `No ${path} here.`, advice: 'Look at the address.' }, 404)
}

setInterval(() => {
  for (const node of answering()) send(snapshotOf(node))
  if (cluster.loadRuns) send({ event: 'load', data: cluster.load() })
}, 500)
setInterval(() => {
  for (const message of cluster.events()) send(message)
}, 250)
/** FACTS=500 sends that many facts a second, a thirtieth of them at a time: the load of the event-to-pixel budget. */
const flood = Number(process.env.FACTS ?? 0)
if (flood > 0) setInterval(() => send(cluster.facts(Math.round(flood / 30))), 33)

setInterval(() => send({ event: 'heartbeat', data: { wallUs: nowUs(), seq: cluster.seq } }), 5000)

const backend = createHttp(answer)
backend.listen(0, '127.0.0.1', async () => {
  const address = backend.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  process.env.QUORUMSCOPE_CONSOLE = `http://127.0.0.1:${address.port}`
  const server = await createServer({ server: { port: Number(process.env.PORT ?? 5173) } })
  await server.listen()
  server.printUrls()
  process.stdout.write(`  made-up console at ${process.env.QUORUMSCOPE_CONSOLE}\n`)
})
