/** A gateway of the drill's own. */
import type { GatewayAddress } from '../drill/gateway-client.js'
import { startOwnServer } from './own-server.js'

/**
 * Starts a server with this configuration; see `startOwnServer`.
 * @returns its address, and `stop`, which ends the server and removes its folder
 */
export async function startDrillGateway(settings: object, left: AbortSignal) {
  const env = { SLUICE_WORKERS: '1', SLUICE_METRICS: 'off' }
  const { url, key, stop } = await startOwnServer({ name: 'drill', settings, env, left })
  const address: GatewayAddress = { url, key }
  return { address, stop }
}
