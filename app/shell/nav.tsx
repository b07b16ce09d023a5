import { Link } from '@tanstack/react-router'
import { livenessOf, replicaIds } from '../../shared/inspection/belief.ts'
import { useCell } from '../data/cell.ts'
import { shown } from '../data/store.ts'
import { SCREENS } from '../screens.ts'
import { useNowSeconds } from '../ui/age.tsx'
import { Glyph } from '../ui/glyph.tsx'
import { nodeLook } from './node-look.ts'

export function Nav() {
  const view = useCell(shown, state => state.view)
  const now = useNowSeconds()
  return (
    <nav className="nav" aria-label="Screens">
      {SCREENS.map(group => (
        <div key={group.heading} className="nav-group">
          <h2>{group.heading}</h2>
          {group.links.map(link => (
            <Link key={link.to} to={link.to} activeOptions={{ exact: link.to === '/cluster', includeSearch: false }}>
              {link.name}
            </Link>
          ))}
        </div>
      ))}
      <ul className="nav-nodes" aria-label="Nodes">
        {replicaIds(view).map(id => {
          const node = view.nodes.get(id)
          const look = nodeLook(view, id, now)
          return (
            <li key={id} data-testid={`nav-node-${id}`} data-liveness={livenessOf(node, now)}>
              <Link
                to="/cluster/nodes/$node"
                params={{ node: String(id) }}
                className="nav-node"
                activeOptions={{ includeSearch: false }}
              >
                <Glyph name={look.glyph} state={look.colour} />
                <span>node-{id}</span>
                <span className="sr">{look.word}</span>
                <span className="push">{look.note}</span>
              </Link>
            </li>
          )
        })}
      </ul>
    </nav>
  )
}
