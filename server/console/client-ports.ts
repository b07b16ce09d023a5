/** The outside world of a protocol client in this process: TCP sockets, the clock, and chance. */
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { Micros } from '../../shared/bytes/units.ts'
import type { ClientPorts, Endpoint, Transport, TransportEvents } from '../../shared/client/ports.ts'
import { wallMs } from './wall.ts'

/** Loopback answers at once or not at all; a stopped process still lets the kernel accept. */
const CONNECT_TIMEOUT_MS = 2_000

function open(endpoint: Endpoint, events: TransportEvents): Promise<Transport> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...endpoint, noDelay: true })
    let reason = 'closed by the server'
    let connected = false
    const timer = setTimeout(
      () => socket.destroy(new Error(`no connection within ${CONNECT_TIMEOUT_MS} ms`)),
      CONNECT_TIMEOUT_MS,
    )
    socket.on('connect', () => {
      clearTimeout(timer)
      connected = true
      resolve({ send: bytes => void socket.write(bytes), close: () => socket.destroy() })
    })
    socket.on('data', chunk => events.data(chunk))
    socket.on('end', () => socket.destroy())
    socket.on('error', error => {
      reason = error.message
    })
    socket.on('close', () => {
      clearTimeout(timer)
      if (connected) events.close(reason)
      else reject(new Error(reason))
    })
  })
}

export const nodeClientPorts: ClientPorts = {
  network: { connect: open },
  clock: {
    nowMs: () => performance.now(),
    nowMicros: () => Micros(BigInt(Math.round(wallMs() * 1000))),
    after: (ms, then) => {
      const timer = setTimeout(then, ms)
      return () => clearTimeout(timer)
    },
  },
  entropy: { bytes: length => new Uint8Array(randomBytes(length)) },
}
