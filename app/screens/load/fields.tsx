import { useCell } from '../../data/cell.ts'
import { grouped } from '../../ui/format.ts'
import { Segmented } from '../../ui/segmented.tsx'
import { isValid, loadForm, NUMBER_FIELDS, type NumberFieldName, setField, setPolicy } from './form.ts'

/** One number of the load: keeps what was typed, also when it is out of range, and says what the range is. */
export function NumberField({ field }: { field: NumberFieldName }) {
  const form = useCell(loadForm)
  const { name, label, least, most } = NUMBER_FIELDS[field]
  const invalid = !isValid(form, field)
  return (
    <label className="field" data-invalid={invalid} title={`${name}, ${grouped(least)} to ${grouped(most)}`}>
      <span className="label">{label}</span>
      <input
        aria-label={name}
        aria-invalid={invalid}
        inputMode="numeric"
        size={7}
        value={form[field]}
        onChange={event => setField(field, event.target.value)}
      />
    </label>
  )
}

export function NameField({ field, label }: { field: 'stream' | 'topic'; label: string }) {
  const form = useCell(loadForm)
  const invalid = !isValid(form, field)
  return (
    <label className="field" data-invalid={invalid} title="1 to 255 bytes of text">
      <span className="label">{label}</span>
      <input
        aria-label={`${label} of the load`}
        aria-invalid={invalid}
        size={14}
        value={form[field]}
        onChange={event => setField(field, event.target.value)}
      />
    </label>
  )
}

export function PolicyField() {
  const { policy } = useCell(loadForm)
  return (
    <Segmented
      name="Acknowledged"
      value={policy}
      onChange={setPolicy}
      options={[
        { value: 'default', label: 'by memory', title: 'Acknowledged once a majority holds it in memory' },
        { value: 'eager', label: 'on disk', title: 'Acknowledged once it is on disk (enforce_fsync)' },
      ]}
    />
  )
}
