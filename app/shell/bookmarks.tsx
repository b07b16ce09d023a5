import { Dialog } from 'radix-ui'
import { useEffect } from 'react'
import { addBookmark, bookmarks, noteBookmark, readBookmarks, removeBookmark } from '../data/bookmarks.ts'
import { useCell } from '../data/cell.ts'
import { latest } from '../data/store.ts'
import { showAddress } from '../data/time.ts'
import { CopyButton } from '../ui/copy.tsx'
import { clock } from '../ui/format.ts'
import { Sheet } from '../ui/sheet.tsx'

/** The address of a moment of the screen that is open. */
function linkTo(at: string): string {
  const url = new URL(location.href)
  url.searchParams.set('at', at)
  return url.href
}

/** Moments that were marked: go to one, say what it is, share it. */
export default function Bookmarks({ onClose }: { onClose: () => void }) {
  const run = useCell(latest, view => view.run)
  useEffect(() => {
    if (run !== undefined) readBookmarks(run)
  }, [run])
  const list = useCell(bookmarks)
  return (
    <Sheet onClose={onClose} className="bookmarks">
      <div className="dialog-head">
        <Dialog.Title asChild>
          <h2>Bookmarks</h2>
        </Dialog.Title>
      </div>
      <div className="dialog-body">
        <Dialog.Description>
          Kept in this browser, for this run. A link that is copied opens this screen at the moment, anywhere that
          reaches this console.
        </Dialog.Description>
        {list.length === 0 ? (
          <p className="ink-3">None yet: step to a moment and press B, or mark the one that is shown.</p>
        ) : (
          <ul className="bookmark-list">
            {list.map(item => (
              <li key={item.at} data-testid="bookmark">
                <button
                  type="button"
                  className="btn small quiet num"
                  onClick={() => {
                    if (showAddress(item.at)) onClose()
                  }}
                >
                  {clock(item.atMs)}
                </button>
                <input
                  className="field"
                  aria-label={`Note on ${clock(item.atMs)}`}
                  maxLength={200}
                  value={item.note}
                  onChange={event => noteBookmark(item.at, event.target.value)}
                />
                <CopyButton text={linkTo(item.at)} label="Copy link" />
                <button type="button" className="btn small quiet" onClick={() => removeBookmark(item.at)}>
                  Remove
                </button>
              </li>
            ))}
          </ul>
        )}
        <p>
          <button type="button" className="btn small" onClick={addBookmark}>
            Bookmark this moment
          </button>
        </p>
      </div>
    </Sheet>
  )
}
