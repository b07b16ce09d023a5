/**
 * A table as a file: CSV after RFC 4180, and JSON. Pure. What is written is the data behind the cells, every digit of it,
 * and not the words that a screen shortens them to.
 *
 * A spreadsheet takes a cell that begins with = + - @ (or with a tab or a line break in front of one, or with the wide form
 * of one where such forms are typed) for a formula and runs it; names and payloads come from outside, so such text is written behind an apostrophe, which says "text".
 * Numbers are no text: -1 stays -1.
 */
export type Datum = string | number | bigint | boolean | null | undefined

export interface TableFile {
  /** What the table lists; a part of the file name. */
  readonly name: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Datum[])[]
}

const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

function csvCell(value: Datum): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  // In quotes, so that a reader which guesses types by the absence of quotes does not round 64 bits to a double.
  if (typeof value === 'bigint') return `"${value}"`
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) || text !== value || /^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Header line, then a line for each row, each ended by CRLF. */
export function toCsv({ columns, rows }: TableFile): string {
  return [columns, ...rows].map(row => `${row.map(csvCell).join(',')}\r\n`).join('')
}

export interface FileOrigin {
  /** Address of the screen, with its filters. */
  readonly address: string
  readonly atMs: number
  /** What the screen watched: LIVE and its like. */
  readonly source: string
}

/** One object: where it comes from, how many rows, and the rows by column. 64-bit values are decimal text. */
export function toJson({ name, columns, rows }: TableFile, origin: FileOrigin): string {
  const plain = (value: Datum) => (typeof value === 'bigint' ? value.toString() : (value ?? null))
  return `${JSON.stringify(
    {
      table: name,
      source: origin.source,
      address: origin.address,
      takenAt: new Date(origin.atMs).toISOString(),
      rowCount: rows.length,
      columns,
      rows: rows.map(row => Object.fromEntries(columns.map((column, index) => [column, plain(row[index])]))),
    },
    null,
    1,
  )}\n`
}

/** `partitions-20261130-061500.csv`; nothing of a name from outside gets into it. */
export function fileName(name: string, atMs: number, extension: string): string {
  const stamp = new Date(atMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')
  return `${name.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()}-${stamp}.${extension}`
}
