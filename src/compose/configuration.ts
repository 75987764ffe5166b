/** The configuration with what others bring into it: the simulator's models and behaviour, the shapes of plugins. */
import { type Config, configJsonSchema, findFileFaults, readConfig } from '../config/config.js'
import type { ConfigFileContent } from '../config/config-file.js'
import { describeSettings } from '../config/settings-view.js'
import { type GatewayConfig, gatewayFileReader } from '../gateway/catalog/configuration.js'
import { plugin } from '../inference-http/plugins.js'
import { behaviourSchema } from '../simulator/behaviour.js'
import { BUILT_IN_MODELS } from '../simulator/built-in-models.js'

const file = gatewayFileReader({
  simulation: { behaviour: behaviourSchema, models: BUILT_IN_MODELS },
  plugin,
})

/** Reads the gateway's part of a configuration file. */
export const readGateway = file.read

/** What a configuration file says wrongly beside the gateway's part; see `findFileFaults`. */
export const otherFaults = (content: ConfigFileContent, ofThisMachine: boolean): string[] =>
  findFileFaults(content, file.keys, ofThisMachine)

/** All settings: environment over file over default. Rejects with `InvalidConfigError`, every fault in it. */
export function loadConfig(environment: Readonly<Record<string, string | undefined>>): Promise<Config> {
  return readConfig(environment, file)
}

/** What is set; see `describeSettings`. */
export function settingsOf(config: Config, gateway: GatewayConfig) {
  return describeSettings(config, gateway, file.keys)
}

/** JSON Schema (2020-12) of the configuration file. */
export function configSchema(): Record<string, unknown> {
  return configJsonSchema(file.keys)
}
