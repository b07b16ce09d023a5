import { useQuery } from '@tanstack/react-query'
import { useCell } from '../../data/cell.ts'
import { queries } from '../../data/queries.ts'
import { shown } from '../../data/store.ts'
import { groupName, pathName } from '../../names.ts'
import { Picker } from '../../ui/picker.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { useSelection } from './selection.ts'

/** Plane and group of the cluster screen, in the top bar: both go to the address. */
export function ClusterBar() {
  const { plane, group, groups, change } = useSelection()
  const names = useQuery(queries.topics()).data
  const keys = useCell(shown, state => state.view.groups)
  const label = (id: string): string => [groupName(id), pathName(names, keys.get(id)?.key)].filter(Boolean).join(' ')
  return (
    <>
      <span className="sep" />
      <Segmented
        name="Plane"
        value={plane}
        options={[
          { value: 'metadata', label: 'metadata' },
          { value: 'partitions', label: 'partitions' },
        ]}
        onChange={value => change({ plane: value, group: undefined })}
      />
      {plane === 'partitions' && group !== undefined && (
        <Picker
          name="Group"
          value={group}
          shown={label(group)}
          options={groups.slice(0, 500).map(id => ({ value: id, label: label(id) }))}
          onChange={value => change({ plane: 'partitions', group: value })}
          testId="group"
        />
      )}
    </>
  )
}
