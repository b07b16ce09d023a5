/**
 * What a person may do by hand in the cluster of a drill, where nothing is asked and nothing judged but by the checkers of the
 * simulated world: acts of one line, and the steps of the language that they are.
 */
import { type Place, parseAddress } from '../scenario/address.ts'
import type { Action, FileEdit } from '../scenario/language.ts'
import { atRest, EAGER, PARTITION_DIRECTORY, readAll, send, started } from './building.ts'

export type FreeAct =
  | { readonly act: 'start' | 'kill' | 'terminate' | 'pause' | 'resume' | 'wipe' | 'undo'; readonly node: number }
  | { readonly act: 'send'; readonly payload: string }
  | { readonly act: 'read' | 'rest' }
  | { readonly act: 'pass'; readonly ms: number }
  | { readonly act: 'cut' | 'heal'; readonly from: number; readonly to: number }
  | { readonly act: 'edit'; readonly node: number; readonly how: FreeEdit; readonly at: string; readonly value: string }

/** What is done at an address. The value is what the edit needs: a mask, bytes, a count, another address, a path. */
export type FreeEdit = 'cut here' | 'flip' | 'zero' | 'write' | 'append' | 'delete' | 'copy' | 'swap' | 'reseal'

/** All nodes run, and stream `s` has topic `t` with one partition. */
export const freeStart = (): readonly Action[] => started(EAGER)

/** What was written cannot be done, in words for whoever wrote it. */
export class BadAct extends Error {}

const ZERO_MAX = 65_536
const REST_MS = 30_000

/** @throws BadAct, BadAddress */
export function actionOf(act: FreeAct): Action {
  switch (act.act) {
    case 'start':
    case 'kill':
    case 'terminate':
    case 'pause':
    case 'resume':
    case 'wipe':
      return { do: act.act, nodes: [act.node] }
    case 'undo':
      return { do: 'undo', node: act.node }
    case 'cut':
    case 'heal':
      return { do: act.act, from: act.from, to: act.to }
    case 'send':
      return { ...send([act.payload]), expect: 'any' } as Action
    case 'read':
      return { ...readAll('read'), expect: 'any' } as Action
    case 'rest':
      return { ...atRest('everything is at rest'), withinMs: REST_MS } as Action
    case 'pass':
      return { do: 'always', what: 'time passes', that: { not: { event: { kind: 'nothing' } } }, forMs: act.ms }
    case 'edit':
      return { do: 'edit', node: act.node, edits: [editOf(act)] }
  }
}

const placeOf = (text: string): Place => parseAddress(text, PARTITION_DIRECTORY)

/** Where an act of the scalpel would cut. @throws BadAddress */
export const placeOfAct = ({ at }: Extract<FreeAct, { act: 'edit' }>): Place => placeOf(at)

function editOf({ how, at: text, value }: Extract<FreeAct, { act: 'edit' }>): FileEdit {
  const { path, at } = placeOf(text)
  switch (how) {
    case 'cut here':
      return { edit: 'truncate', path, to: at }
    case 'flip':
      return { edit: 'flip', path, at, mask: Number.parseInt(hexOf(value || '01', 1), 16) }
    case 'zero':
      return { edit: 'write', path, at, hex: '00'.repeat(countOf(value, ZERO_MAX)) }
    case 'write':
      return { edit: 'write', path, at, hex: hexOf(value) }
    case 'append':
      return { edit: 'append', path, hex: hexOf(value) }
    case 'delete':
      return { edit: 'delete', path }
    case 'copy':
      return { edit: 'copy', path, to: pathOf(value) }
    case 'swap': {
      const [other = '', length = ''] = value.trim().split(/\s+/)
      return { edit: 'swap', path, a: at, b: placeOf(other).at, length: countOf(length, ZERO_MAX) }
    }
    case 'reseal':
      return path.includes('superblock.')
        ? { edit: 'reseal', path, kind: 'superblock' }
        : { edit: 'reseal', path, kind: 'walEntry', at }
  }
}

function hexOf(text: string, bytes?: number): string {
  const hex = text.replaceAll(/\s/g, '')
  if (/^([0-9a-fA-F]{2})+$/.test(hex) && (bytes === undefined || hex.length === 2 * bytes)) return hex
  throw new BadAct(`${text || 'nothing'} is not ${bytes === 1 ? 'one byte' : 'bytes'} in hex`)
}

function countOf(text: string, max: number): number {
  const count = Number(text)
  if (Number.isInteger(count) && count > 0 && count <= max) return count
  throw new BadAct(`${text || 'nothing'} is not a number of bytes from 1 to ${max}`)
}

/** A new file stays inside the data directory. */
function pathOf(text: string): string {
  if (/^[\w.-]+(\/[\w.-]+)*$/.test(text) && !text.split('/').includes('..')) return text
  throw new BadAct(`${text || 'nothing'} is no path inside the data directory`)
}
