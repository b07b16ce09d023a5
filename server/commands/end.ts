/**
 * Ends this process with a status once what it said is out. For commands that have held sockets: left to itself the runtime
 * frees what it still holds before it ends, and with a socket that it had lost count of it was seen to turn in circles there
 * for ever, at full load.
 */
export function endWith(status: number): void {
  process.stderr.write('', () => process.stdout.write('', () => process.exit(status)))
}
