import { expect, it } from 'vitest'
import { retentionWords } from './retention.ts'

const settings = { segmentSizeBytes: 1, enforceFsync: false, messagesRequiredToSave: 1, sizeRequiredToSaveBytes: 1 }
const said = (rules: object, purge?: { applied: string; committed: string }) =>
  retentionWords({ settings: { ...settings, ...rules }, ...(purge && { purge }) })

it('says what is kept, and what purges there were', () => {
  expect(said({})).toBe('every segment')
  expect(said({}, { applied: '0', committed: '0' })).toBe('every segment; never purged')
  expect(said({ expiryUs: '90000000' }, { applied: '1', committed: '1' })).toBe(
    'sealed segments for 1 min 30 s; purged 1 time',
  )
  expect(said({ expiryUs: '1000000', sealedBytesMax: String(4 * 2 ** 20) }, { applied: '0', committed: '1' })).toBe(
    'sealed segments for 1.0 s, at most 4 MiB of sealed segments; never purged; purge 1 is committed and not applied here yet',
  )
})
