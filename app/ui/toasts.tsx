import { useCell } from '../data/cell.ts'
import { dismissToast, holdToasts, politeLine, toasts } from '../data/notices.ts'
import { Glyph } from './glyph.tsx'

/** Toasts stand above the time bar and never take focus; errors stay until dismissed. */
export function Toasts() {
  const items = useCell(toasts)
  return (
    <section
      className="toasts"
      aria-label="Messages"
      onPointerEnter={() => holdToasts(true)}
      onPointerLeave={() => holdToasts(false)}
      onFocus={() => holdToasts(true)}
      onBlur={() => holdToasts(false)}
    >
      {items.map(item => (
        <div key={item.id} className="toast" data-tone={item.tone}>
          <Glyph
            name={item.tone === 'bad' ? 'fail' : item.tone === 'good' ? 'ok' : 'commit'}
            state={item.tone === 'bad' ? 'danger' : item.tone === 'good' ? 'ok' : 'none'}
          />
          <span>
            <b>{item.words}</b> {item.detail}
          </span>
          <span className="row">
            {item.action && (
              <button
                type="button"
                className="btn small"
                onClick={() => {
                  item.action?.run()
                  dismissToast(item.id)
                }}
              >
                {item.action.label}
              </button>
            )}
            <button type="button" className="iconbtn small" aria-label="Dismiss" onClick={() => dismissToast(item.id)}>
              <Glyph name="drop" />
            </button>
          </span>
        </div>
      ))}
    </section>
  )
}

/** What screen readers hear: one polite region for the whole page. */
export function PoliteLine() {
  return (
    <p className="sr" role="status" aria-live="polite">
      {useCell(politeLine)}
    </p>
  )
}
