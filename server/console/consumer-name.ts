import { type Consumer, Ident } from '../../shared/protocol/ident.ts'

const U32_MAX = 0xffff_ffff

/** A text of digits is a number here, as people write it; a client that names itself so in letters is out of reach. */
export const consumerOf = (text: string): Consumer => ({
  kind: 'consumer',
  id: /^\d{1,10}$/.test(text) && Number(text) <= U32_MAX ? Ident.id(Number(text)) : Ident.name(text),
})
