import { Segmented } from '../../ui/segmented.tsx'
import type { PartitionScreenState } from './use-partition.ts'

/** What stands on the left below the chain. */
export function BottomTabs({ state }: { state: PartitionScreenState }) {
  return (
    <div className="bottom-tabs">
      <Segmented
        name="Below the chain"
        value={state.search.pane ?? 'batches'}
        options={[
          { value: 'batches', label: 'Batches' },
          { value: 'poll', label: 'Poll' },
          { value: 'consumers', label: 'Consumers' },
          { value: 'compare', label: 'Compare' },
        ]}
        onChange={value => state.change({ pane: value === 'batches' ? undefined : value, msg: undefined })}
      />
    </div>
  )
}
