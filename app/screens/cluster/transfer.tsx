/** How far a state transfer has come: who gives it, which artifact, how many bytes of how many. */
import type { TransferProgressJson } from '../../../shared/inspection/snapshots.ts'
import { bytesShort } from '../../ui/format.ts'
import './transfer.css'

export function transferWords({
  peer,
  artifact,
  artifacts,
  receivedBytes,
  totalBytes,
  installing,
}: TransferProgressJson): string {
  if (artifacts === 0) return `asked node-${peer} for its state`
  const much = `${bytesShort(receivedBytes)} of ${bytesShort(totalBytes)} from node-${peer}`
  return installing ? `installs ${much}` : `artifact ${Math.min(artifact + 1, artifacts)} of ${artifacts}, ${much}`
}

export function TransferLine({ of }: { of: TransferProgressJson }) {
  return (
    <p className="transfer-line" data-testid="transfer">
      <progress
        aria-label="State transfer"
        {...(of.totalBytes > 0 && { value: of.receivedBytes, max: of.totalBytes })}
      />
      <span>{transferWords(of)}</span>
    </p>
  )
}
