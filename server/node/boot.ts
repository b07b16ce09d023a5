import type { Replica, ReplicaConfig, ReplicaPorts } from '../../shared/replica/contract.ts'

export type BootReplica = (config: ReplicaConfig, ports: ReplicaPorts) => Promise<Replica>

/** The engine, loaded when a node boots. */
export const bootEngine: BootReplica = async (config, ports) => {
  const path = '../../shared/replica/replica.ts'
  const { bootReplica } = (await import(path)) as { bootReplica: BootReplica }
  return bootReplica(config, ports)
}
