import { nodeClientPorts } from '../server/console/client-ports.ts'
import { ROOT } from '../server/console/serve.ts'
import { createHash } from '../shared/bytes/hash.ts'
import { Client } from '../shared/client/client.ts'

/** Sends one message to one node, whoever leads the partition: no retry, no looking for the primary. */
export async function writeThrough(
  port: number,
  stream: string,
  topic: string,
  partition: number,
  payload: string,
): Promise<void> {
  const client = new Client(nodeClientPorts, {
    endpoints: [{ host: '127.0.0.1', port }],
    hash: await createHash(),
    credentials: ROOT,
    retry: false,
    followLeader: false,
    budgetMs: 30_000,
  })
  try {
    await client.connect()
    await client.sendMessages(stream, topic, { kind: 'partition', partition }, [{ payload }])
  } finally {
    client.close()
  }
}
