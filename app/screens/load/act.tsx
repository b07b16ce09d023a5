/** Start and stop of the load, each also as a line of shell. */
import type { LoadState } from '../../../shared/inspection/api.ts'
import { actOnLoad, useForbidden } from '../../data/actions.ts'
import { useCell } from '../../data/cell.ts'
import { loadCommand } from '../../data/shell-command.ts'
import { ActButton } from '../../ui/act-button.tsx'
import { CopyCommands } from '../../ui/copy.tsx'
import { Glyph } from '../../ui/glyph.tsx'
import { loadForm, settingsOf } from './form.ts'

const BUSY = new Set<LoadState['state']>(['starting', 'running', 'stopping', 'verifying'])
export const isBusy = (load: LoadState | undefined): boolean => load !== undefined && BUSY.has(load.state)

export function LoadActs({ load }: { load: LoadState | undefined }) {
  const settings = settingsOf(useCell(loadForm))
  const busy = isBusy(load)
  return (
    <>
      <CopyCommands
        commands={[
          busy
            ? { name: 'Stop load', text: loadCommand({ action: 'stop' }, location.origin) }
            : {
                name: 'Start load',
                text: loadCommand({ action: 'start', ...(settings && { settings }) }, location.origin),
              },
        ]}
      />
      {busy ? <Stop state={load!.state} /> : <Start settings={settings} />}
    </>
  )
}

function Stop({ state }: { state: LoadState['state'] }) {
  const forbidden = useForbidden()
  const ending = state === 'stopping' || state === 'verifying'
  return (
    <ActButton
      name="Stop load"
      pendingKey={['load']}
      onAct={() => void actOnLoad({ action: 'stop' })}
      why={forbidden ?? (ending ? 'It has stopped sending and reads back what was acknowledged.' : undefined)}
      className="btn small"
      testId="load-stop"
    >
      <Glyph name="pause" />
      {state === 'verifying' ? 'Reading back' : state === 'stopping' ? 'Stopping' : 'Stop load'}
    </ActButton>
  )
}

function Start({ settings }: { settings: ReturnType<typeof settingsOf> }) {
  const forbidden = useForbidden()
  return (
    <ActButton
      name="Start load"
      pendingKey={['load']}
      onAct={() => {
        if (settings) void actOnLoad({ action: 'start', settings })
      }}
      why={forbidden ?? (settings ? undefined : 'A field is out of its range.')}
      className="btn small main-act"
      testId="load-start"
    >
      <Glyph name="play" />
      Start load
    </ActButton>
  )
}
