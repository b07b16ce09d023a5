/** A command as data, and the keys that reach it. Pure, so that palette, help and tests share it. */

export interface Command {
  readonly id: string
  readonly group: 'Go to' | 'View' | 'Nodes' | 'Links' | 'Load'
  readonly name: string
  /** One key without modifiers, or Mod+key (Control, or Command on a Mac). */
  readonly key?: string
  readonly run: () => void
  /** Why it cannot run now. */
  readonly blocked?: string | undefined
}

/** Reads a key press as the `key` of a command. */
export function pressedKey(event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>): string | undefined {
  if (event.altKey) return undefined
  if (event.ctrlKey || event.metaKey) return `Mod+${event.key.toLowerCase()}`
  return event.key.length === 1 ? event.key.toLowerCase() : undefined
}

/** How a key is written in help and on buttons. */
export const keyWord = (key: string): string =>
  key === ' ' ? 'Space' : key.startsWith('Mod+') ? `Ctrl ${key.slice(4).toUpperCase()}` : key.toUpperCase()

/** Palette search: every word must occur in the name or group, in any order. */
export function matchCommands(list: readonly Command[], query: string): Command[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  return list.filter(command => {
    const text = `${command.group} ${command.name}`.toLowerCase()
    return words.every(word => text.includes(word))
  })
}
