/** Five rules, each with its verdict; what one was checked on stands under them for whoever asks, and always when broken. */
import type { ClusterView } from '../../../shared/inspection/view.ts'
import { Glyph } from '../../ui/glyph.tsx'
import { State } from '../../ui/state.tsx'
import { TableSave } from '../../ui/table-save.tsx'
import { invariantsOf, VERDICT_LOOK } from './invariants.ts'
import { usePrefix } from './use-prefix.ts'

export default function InvariantsStrip(props: {
  view: ClusterView
  group: string
  asked: boolean
  onAsk: (asked: boolean) => void
}) {
  const { view, group, asked, onAsk } = props
  const rules = invariantsOf(view, usePrefix(view, group))
  const broken = rules.filter(rule => rule.verdict === 'broken')
  const open = asked || broken.length > 0
  return (
    <section className="pane inv" aria-label="Invariants" data-testid="invariants" data-broken={broken.length}>
      <div className="inv-row">
        <h2>Invariants</h2>
        {rules.map(rule => (
          <span key={rule.id} title={rule.words} data-testid={`invariant-${rule.id}`} data-verdict={rule.verdict}>
            <State look={VERDICT_LOOK[rule.verdict]} word={rule.name} />
            <span className="sr"> {VERDICT_LOOK[rule.verdict].word}</span>
          </span>
        ))}
        <button type="button" className="btn small quiet push" aria-expanded={open} onClick={() => onAsk(!asked)}>
          <Glyph name="table" />
          On what
        </button>
        <TableSave
          name="invariants"
          rows={rules}
          columns={[
            { id: 'invariant', data: rule => rule.name },
            { id: 'verdict', data: rule => rule.verdict },
            { id: 'on', data: rule => rule.words },
          ]}
        />
      </div>
      {open && (
        <dl className="kv left inv-why">
          {rules.map(rule => (
            <InvariantWords
              key={rule.id}
              name={rule.name}
              words={`${VERDICT_LOOK[rule.verdict].word}: ${rule.words}`}
            />
          ))}
        </dl>
      )}
    </section>
  )
}

function InvariantWords({ name, words }: { name: string; words: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="t">{words}</dd>
    </>
  )
}
