import { describe, expect, it } from 'vitest'
import { fileName, toCsv, toJson } from './table-file.ts'

const file = (...rows: (string | number | bigint | null)[][]) => ({ name: 'nodes', columns: ['a', 'b'], rows })
const origin = { address: '/partitions?q=x', atMs: Date.UTC(2026, 10, 30, 6, 15), source: 'LIVE' }

describe('a table as a file', () => {
  it('is CSV after RFC 4180: quotes doubled, separators and line breaks inside quotes, CRLF at every end', () => {
    expect(toCsv(file(['plain', 'a,b'], ['say "no"', 'two\r\nlines'], ['', null]))).toBe(
      'a,b\r\nplain,"a,b"\r\n"say ""no""","two\r\nlines"\r\n,\r\n',
    )
  })

  it('G42 writes what a spreadsheet would run as text', () => {
    const hostile = [
      '=1+1',
      '+1',
      '-1',
      '@SUM(A1)',
      '\t=1',
      '\r=1',
      '=HYPERLINK("http://x","y")',
      '\n=1',
      '\uff1d1+1',
      '\uff20SUM(A1)',
    ]
    for (const text of hostile) {
      const line = toCsv({ name: 'n', columns: ['c'], rows: [[text]] }).slice('c\r\n'.length)
      expect(line, JSON.stringify(text)).toBe(`"'${text.replaceAll('"', '""')}"\r\n`)
    }
    // A header comes from the page, but it is a cell like every other.
    expect(toCsv({ name: 'n', columns: ['=a'], rows: [] })).toBe('"\'=a"\r\n')
  })

  it('is its header alone where a filter leaves no row, and says so as JSON', () => {
    expect(toCsv(file())).toBe('a,b\r\n')
    expect(JSON.parse(toJson(file(), origin))).toMatchObject({ rowCount: 0, columns: ['a', 'b'], rows: [] })
  })

  it('keeps a name of the language that a column has', () => {
    const odd = { name: 'n', columns: ['__proto__', 'constructor'], rows: [['a', 'b']] }
    expect(toJson(odd, origin)).toContain('"__proto__": "a"')
  })

  it('leaves numbers numbers, negative ones too', () => {
    expect(toCsv(file([-1, -1n]))).toBe('a,b\r\n-1,"-1"\r\n')
  })

  it('G41 keeps every digit of 64-bit values, as text in JSON', () => {
    const big = 18_446_744_073_709_551_615n
    expect(toCsv(file(['x', big]))).toContain('"18446744073709551615"')
    expect(JSON.parse(toJson(file(['73314510714175488', big]), origin)).rows).toEqual([
      { a: '73314510714175488', b: '18446744073709551615' },
    ])
  })

  it('says where it comes from, with its filter, and how many rows it has', () => {
    expect(JSON.parse(toJson(file(['x', null]), origin))).toEqual({
      table: 'nodes',
      source: 'LIVE',
      address: '/partitions?q=x',
      takenAt: '2026-11-30T06:15:00.000Z',
      rowCount: 1,
      columns: ['a', 'b'],
      rows: [{ a: 'x', b: null }],
    })
  })

  it('has a name that any file system takes', () => {
    expect(fileName('Gaps of the load/../x', origin.atMs, 'csv')).toBe('gaps-of-the-load-x-20261130-061500.csv')
  })
})
