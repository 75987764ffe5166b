import { practice } from '../../http/dialects/practice.js'
import { type Endpoint, endpoint } from '../../http/endpoint.js'
import { bytes } from '../../http/reply.js'
import { type Asset, PAGE, viewerAssets } from './viewer.js'

/** The document and a page that renders it from local files: nothing is fetched from outside. */
export const docsEndpoints = (document: () => string): Endpoint[] => [
  endpoint({
    name: 'openapi',
    method: 'GET',
    path: '/api/v1/openapi.json',
    summary: 'This document',
    tag: 'service',
    dialect: practice,
    replies: { 200: { description: 'OpenAPI 3.1', schema: { type: 'object' } } },
    handle: () => bytes(200, 'application/json', document()),
  }),
  page('docs', '/docs', PAGE),
  ...viewerAssets().map((asset) => page('docs', `/docs/${asset.name}`, asset)),
]

/** The page may load what this server serves and nothing else. Swagger UI sets styles inline. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

function page(name: string, path: string, asset: Asset): Endpoint {
  return endpoint({
    name,
    method: 'GET',
    path,
    summary: 'The documentation page',
    tag: 'service',
    dialect: practice,
    hidden: true,
    replies: { 200: { description: 'A file of the page', mediaType: asset.mediaType } },
    handle: () =>
      bytes(200, asset.mediaType, asset.content(), [
        ['Content-Security-Policy', POLICY],
        ['X-Content-Type-Options', 'nosniff'],
      ]),
  })
}
