import { Dialog } from 'radix-ui'
import { explainOpen, helpOpen } from '../commands.ts'
import { useCell } from '../data/cell.ts'
import { type Command, keyWord } from '../keys.ts'
import { prefs, setSingleKeys } from '../prefs.ts'
import { Glyph } from '../ui/glyph.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { beliefLook, standingLook } from '../ui/states.ts'

/** Shortcuts and the key to the shapes: the same sheet on every screen. */
export default function Help(props: { commands: readonly Command[] }) {
  const { singleKeys } = useCell(prefs)
  return (
    <Sheet onClose={() => helpOpen.set(false)} undescribed>
      <div className="dialog-head">
        <Dialog.Title asChild>
          <h2>Shortcuts and help</h2>
        </Dialog.Title>
        <button
          type="button"
          className="btn small push"
          onClick={() => {
            helpOpen.set(false)
            explainOpen.set(true)
          }}
        >
          What the words mean
        </button>
        <Dialog.Close asChild>
          <button type="button" className="btn small quiet">
            Close <kbd>Esc</kbd>
          </button>
        </Dialog.Close>
      </div>
      <div className="dialog-body help">
        <section>
          <h3 className="label">Keys</h3>
          <dl className="kv">
            {props.commands
              .filter(command => command.key !== undefined)
              .map(command => (
                <div key={command.id} className="kv-row">
                  <dt>{command.name}</dt>
                  <dd>
                    <kbd>{keyWord(command.key!)}</kbd>
                  </dd>
                </div>
              ))}
          </dl>
          <label className="row check">
            <input type="checkbox" checked={singleKeys} onChange={event => setSingleKeys(event.target.checked)} />
            Shortcuts of a single key
          </label>
          <p className="why">Tab reaches everything; arrows move inside menus, tabs and the batches of the lens.</p>
        </section>
        <section>
          <h3 className="label">Shapes</h3>
          <ul className="shapes">
            {[...Object.values(standingLook), beliefLook.candidate].map(look => (
              <li key={look.word} className="state">
                <Glyph name={look.glyph} state={look.colour} />
                {look.word}
              </li>
            ))}
            <li>
              <span className="differs" /> differs from what its peers say
            </li>
            <li>hatched: old, its last words</li>
          </ul>
          <p className="why">
            Every value is what one node said of itself. An age stands beside it; nothing is averaged.
          </p>
        </section>
      </div>
    </Sheet>
  )
}
