/** Ports of the client for Node: TCP, timers, clock and chance. */
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { Micros } from '../../shared/bytes/units.ts'
import type { ClientNetwork, ClientPorts, TransportEvents } from '../../shared/client/ports.ts'

/** A connection attempt is given up after this time, so that an unreachable host does not eat the budget of a call. */
const CONNECT_TIMEOUT_MS = 2_000

export const tcpNetwork: ClientNetwork = {
  connect: ({ host, port }, events) =>
    new Promise((resolve, reject) => {
      const socket = connect({ host, port, noDelay: true })
      const timer = setTimeout(() => socket.destroy(new Error('timed out')), CONNECT_TIMEOUT_MS)
      const refused = (error?: Error) => {
        clearTimeout(timer)
        reject(error ?? new Error('closed'))
      }
      socket.once('error', refused)
      socket.once('close', refused)
      socket.once('connect', () => {
        clearTimeout(timer)
        socket.off('error', refused)
        socket.off('close', refused)
        resolve(attach(socket, events))
      })
    }),
}

function attach(socket: Socket, events: TransportEvents) {
  let reason = 'closed by the server'
  socket.on('data', chunk => events.data(chunk))
  socket.on('error', error => {
    reason = error.message
  })
  socket.on('close', () => events.close(reason))
  return {
    send: (bytes: Uint8Array) => {
      socket.write(bytes)
    },
    close: () => {
      reason = 'closed'
      socket.destroy()
    },
  }
}

export const nodeClientPorts: ClientPorts = {
  network: tcpNetwork,
  clock: {
    nowMs: () => performance.now(),
    nowMicros: () => Micros(BigInt(Date.now()) * 1000n),
    after(ms, then) {
      const timer = setTimeout(then, ms)
      return () => clearTimeout(timer)
    },
  },
  entropy: { bytes: length => randomBytes(length) },
}
