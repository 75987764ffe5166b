/** The configuration with what others bring into it: the simulator's models and behaviour, the shapes of plugins. */
import { type Config, configJsonSchema, findFileFaults, readConfig } from '../config/config.js'
import type { ConfigFileContent } from '../config/config-file.js'
import { describeSettings } from '../config/settings-view.js'
import {
  type GatewayConfig,
  type GatewayFileReader,
  gatewayFileReader,
} from '../gateway/catalog/configuration.js'
import { plugin } from '../inference-http/plugins.js'
import { behaviourOfThisMachine, behaviourSchema } from '../simulator/behaviour.js'
import { BUILT_IN_MODELS } from '../simulator/built-in-models.js'

const readerWith = (behaviour: typeof behaviourSchema | typeof behaviourOfThisMachine): GatewayFileReader =>
  gatewayFileReader({ simulation: { behaviour, models: BUILT_IN_MODELS }, plugin })

const file = readerWith(behaviourOfThisMachine)

/** Reads the gateway's part of a configuration file of this machine; files that it names have to be there. */
export const readGateway = file.read

/** Made when the first one asks: few do. */
let fileFromElsewhere: GatewayFileReader | null = null

/** The same for a text of a caller from elsewhere, who must not learn which files this machine has. */
export const readGatewayFromElsewhere: GatewayFileReader['read'] = (content, environment) => {
  fileFromElsewhere ??= readerWith(behaviourSchema)
  return fileFromElsewhere.read(content, environment)
}

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
