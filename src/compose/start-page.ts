/** What the start page tells of this server. */
import { INTERFACE_VERSION } from '../app.js'
import { VERSION } from '../base/version.js'
import type { Config } from '../config/config.js'
import type { StartPorts } from '../features/start/endpoints.js'

/** Where `lab: on` listens; the supervisor opens it there. */
const LAB_ADDRESS = '127.0.0.1:8081'

export function startPorts(config: Config, baseUrl: string): StartPorts {
  const { practice, lab, metrics } = config
  return {
    version: VERSION,
    interfaceVersion: INTERFACE_VERSION,
    baseUrl,
    practice,
    labUrl: lab === 'off' ? null : `http://${lab === 'on' ? LAB_ADDRESS : lab}/lab`,
    metricsUrl: metrics === 'off' ? null : `${metrics === 'on' ? baseUrl : `http://${metrics}`}/metrics`,
  }
}
