/** What the start page tells of this server. */
import { INTERFACE_VERSION, VERSION } from '../base/version.js'
import type { Config } from '../config/config.js'
import type { StartPorts } from '../features/start/endpoints.js'

export function startPorts(
  config: Pick<Config, 'practice' | 'console' | 'consoleListen' | 'lab' | 'metrics' | 'publicUrl'>,
  listeningUrl: string,
): StartPorts {
  const { practice, lab, metrics, publicUrl } = config
  const baseUrl = publicUrl || listeningUrl
  // Listeners of their own: strangers cannot reach them, and it is none of their business where they are.
  const urlOf = (place: string): string | null =>
    publicUrl !== '' || place === 'off' || place.endsWith(':0') ? null : `http://${place}`
  const [labAt, metricsAt] = [urlOf(lab), metrics === 'on' ? baseUrl : urlOf(metrics)]
  return {
    version: VERSION,
    interfaceVersion: INTERFACE_VERSION,
    baseUrl,
    practice,
    hasConsole: config.console && config.consoleListen === '',
    labUrl: labAt && `${labAt}/lab`,
    metricsUrl: metricsAt && `${metricsAt}/metrics`,
  }
}
