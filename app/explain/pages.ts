/** The pages of docs/book, in the order in which they are read; each is fetched when it is opened. */
const FILES = import.meta.glob<string>('../../docs/book/*.md', { query: '?raw', import: 'default' })
export const PAGES = ['views', 'logs', 'disk', 'forwards', 'processes', 'verdicts'] as const

export const readPage = (name: string): Promise<string> | undefined => FILES[`../../docs/book/${name}.md`]?.()
