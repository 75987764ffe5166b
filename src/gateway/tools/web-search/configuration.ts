/** `tools.web_search` of the file: the engines that search. */
import { z } from 'zod'
import { baseUrl, camelCased, orNull, variableName } from '../../catalog/configuration/values.js'

function account(url: string) {
  return orNull(
    z
      .strictObject({
        api_key_env: variableName.describe('Environment variable that holds the key.'),
        base_url: baseUrl.default(url).describe('Where its interface begins.'),
      })
      .transform(camelCased),
  )
}

export const webSearchMembers = {
  backend: orNull(z.enum(['searxng', 'brave', 'tavily', 'exa'])).describe(
    'The engine for requests that name none; the first configured one when absent.',
  ),
  searxng: orNull(
    z
      .strictObject({
        base_url: baseUrl.describe('Where it listens; its settings have to list json among search.formats.'),
      })
      .transform(camelCased),
  ).describe('A SearXNG server.'),
  brave: account('https://api.search.brave.com').describe('Brave Search.'),
  tavily: account('https://api.tavily.com').describe('Tavily.'),
  exa: account('https://api.exa.ai').describe('Exa.'),
}
