/** Stands for the rows of a long table that are not drawn. */
export function Spacer({ height }: { height: number }) {
  if (height <= 0) return null
  return (
    <tr className="spacer">
      <td colSpan={COLUMNS_ALL} style={{ height }} />
    </tr>
  )
}
/** More than any table has: the cell goes to its end. */
const COLUMNS_ALL = 99
