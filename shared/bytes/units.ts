/**
 * Branded units. A brand keeps apart numbers that look alike but must never be mixed: an op is not an offset, an offset
 * is not a position in a file. Brands cost nothing at run time; cast with the constructor of the same name.
 * 64-bit values are `bigint`; what is bounded below 2^53 by construction (positions in one file, ticks) is `number`.
 */
declare const brand: unique symbol
type Branded<T, B extends string> = T & { readonly [brand]: B }

/** Number of a consensus operation within one group; the first op is 1, 0 means "none yet". */
export type Op = Branded<bigint, 'Op'>
/** Number of a message within one partition; the first message is 0. */
export type Offset = Branded<bigint, 'Offset'>
/** View number (u32). `view mod replicaCount` is the primary. */
export type View = Branded<number, 'View'>
/** Ticks of 10 ms since the boot of a node. */
export type Tick = Branded<number, 'Tick'>
/** Byte position inside one file or buffer. */
export type BytePosition = Branded<number, 'BytePosition'>
/** Microseconds since the Unix epoch. */
export type Micros = Branded<bigint, 'Micros'>
/** Consensus group id (u64): `1 << 63` is the metadata group, else a packed (stream, topic, partition). */
export type GroupId = Branded<bigint, 'GroupId'>
/** Client id (u128). */
export type ClientId = Branded<bigint, 'ClientId'>
/** Index of a replica in its cluster (0..31). */
export type ReplicaId = Branded<number, 'ReplicaId'>
/** XXH3-64 value; zero-extended where a field is 16 bytes wide. */
export type Checksum = Branded<bigint, 'Checksum'>

export const Op = (value: bigint): Op => value as Op
export const Offset = (value: bigint): Offset => value as Offset
export const View = (value: number): View => value as View
export const Tick = (value: number): Tick => value as Tick
export const BytePosition = (value: number): BytePosition => value as BytePosition
export const Micros = (value: bigint): Micros => value as Micros
export const GroupId = (value: bigint): GroupId => value as GroupId
export const ClientId = (value: bigint): ClientId => value as ClientId
export const ReplicaId = (value: number): ReplicaId => value as ReplicaId
export const Checksum = (value: bigint): Checksum => value as Checksum

export const U32_MAX = 0xffff_ffff
export const U64_MAX = 0xffff_ffff_ffff_ffffn
export const U128_MAX = (1n << 128n) - 1n
/** Consensus ticks are 10 ms of wall time (spec consensus.md §4). */
export const TICK_MS = 10
