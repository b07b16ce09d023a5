/** The book's pages as blocks: as much of Markdown as they use, and nothing that could be markup of somebody else. Pure. */
export type Block =
  | { readonly is: 'heading'; readonly level: 1 | 2; readonly text: string }
  | { readonly is: 'paragraph'; readonly text: string }

export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = []
  let lines: string[] = []
  const close = (): void => {
    if (lines.length > 0) blocks.push({ is: 'paragraph', text: lines.join(' ') })
    lines = []
  }
  for (const line of markdown.split('\n')) {
    const heading = /^(#{1,2}) (.+)$/.exec(line)
    if (heading) {
      close()
      blocks.push({ is: 'heading', level: heading[1]!.length as 1 | 2, text: heading[2]! })
    } else if (line.trim() === '') close()
    else lines.push(line.trim())
  }
  close()
  return blocks
}

/** As code forges name the anchors of headings. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .trim()
    .replace(/\s+/g, '-')

/** Text with `code` in it, as pieces. */
export const piecesOf = (text: string): { readonly code: boolean; readonly text: string }[] =>
  text
    .split('`')
    .map((piece, index) => ({ code: index % 2 === 1, text: piece }))
    .filter(piece => piece.text !== '')
