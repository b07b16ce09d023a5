import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { loadSettings } from '../../shared/inspection/api.ts'
import { loadCommand, nodeCommand, requestCommand } from './shell-command.ts'

const ORIGIN = 'http://localhost:4600'
/** The arguments that a shell would start the command with. */
const args = (command: string): string[] =>
  execFileSync('sh', ['-c', `curl() { for one in "$@"; do printf '%s\\0' "$one"; done; }; ${command}`], {
    env: { ...process.env, QUORUMSCOPE_TOKEN: 'secret' },
    encoding: 'utf8',
  })
    .split('\0')
    .slice(0, -1)

describe('an action as a line of shell', () => {
  it('is the request that the page makes, whatever is in its names, and has no token in it', () => {
    const command = loadCommand(
      { action: 'start', settings: loadSettings.parse({ topic: `it's 'mine' "$HOME" \`id\`` }) },
      ORIGIN,
    )
    const given = args(command)
    expect(given.slice(0, 3)).toEqual(['-X', 'POST', `${ORIGIN}/api/load`])
    expect(given).toContain('authorization: Bearer secret')
    expect(JSON.parse(given.at(-1)!).settings.topic).toBe(`it's 'mine' "$HOME" \`id\``)
    expect(command).not.toContain('secret')
    expect(args(requestCommand('/api/nodes/1/start', {}, ORIGIN)).at(-1)).toBe('{}')
  })

  it('is a signal to the process where the action is one, and each action has its own', () => {
    expect(nodeCommand(1, 'pause', { pid: 42 }, ORIGIN)).toBe('kill -STOP 42')
    expect(nodeCommand(1, 'kill', { pid: null }, ORIGIN)).toContain('/api/nodes/1/kill')
    expect(nodeCommand(1, 'wipe', { pid: 42 }, ORIGIN)).toContain('/api/nodes/1/wipe')
    expect(nodeCommand(1, 'start', undefined, ORIGIN)).toContain('/api/nodes/1/start')
  })
})
