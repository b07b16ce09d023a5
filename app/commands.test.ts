import { expect, it } from 'vitest'
import { type Command, keyWord, matchCommands, pressedKey } from './keys.ts'

const command = (id: string, group: Command['group'], name: string): Command => ({ id, group, name, run: () => {} })
const press = (key: string, over: Partial<{ ctrlKey: boolean; metaKey: boolean; altKey: boolean }> = {}) =>
  pressedKey({ key, ctrlKey: false, metaKey: false, altKey: false, ...over })

it('reads a press as the key of a command, and leaves the browser its own', () => {
  expect(press('T')).toBe('t')
  expect(press(' ')).toBe(' ')
  expect(press('K', { ctrlKey: true })).toBe('Mod+k')
  expect(press('k', { metaKey: true })).toBe('Mod+k')
  expect(press('t', { altKey: true })).toBeUndefined()
  expect(press('Escape')).toBeUndefined()
  expect([' ', 'Mod+k', '?'].map(keyWord)).toEqual(['Space', 'Ctrl K', '?'])
})

it('finds a command by words in any order, of its group or its name', () => {
  const list = [
    command('a', 'Nodes', 'Kill node-0'),
    command('b', 'Nodes', 'Start node-0'),
    command('c', 'View', 'Pause view'),
  ]
  expect(matchCommands(list, '0 kill').map(item => item.id)).toEqual(['a'])
  expect(matchCommands(list, 'nodes').map(item => item.id)).toEqual(['a', 'b'])
  expect(matchCommands(list, '')).toHaveLength(3)
  expect(matchCommands(list, 'nothing')).toHaveLength(0)
})
