import { practice } from '../../http/dialects/practice.js'
import { defineEndpoint, type Endpoint } from '../../http/endpoint.js'
import { bytesReply } from '../../http/reply.js'
import { VIEWER_PAGE, type ViewerAsset, viewerAssets } from './viewer.js'

/** The document and a page that renders it from local files: nothing is fetched from outside. */
export const docsEndpoints = (document: () => string): Endpoint[] => [
  defineEndpoint({
    name: 'openapi',
    method: 'GET',
    path: '/api/v1/openapi.json',
    summary: 'This document',
    tag: 'service',
    dialect: practice,
    replies: { 200: { description: 'OpenAPI 3.1', schema: { type: 'object' } } },
    handle: () => bytesReply(200, 'application/json', document()),
  }),
  pageEndpoint('docs', '/docs', VIEWER_PAGE),
  ...viewerAssets().map((asset) => pageEndpoint('docs', `/docs/${asset.name}`, asset)),
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

function pageEndpoint(name: string, path: string, asset: ViewerAsset): Endpoint {
  return defineEndpoint({
    name,
    method: 'GET',
    path,
    summary: 'The documentation page',
    tag: 'service',
    dialect: practice,
    hidden: true,
    replies: { 200: { description: 'A file of the page', mediaType: asset.mediaType } },
    handle: () =>
      bytesReply(200, asset.mediaType, asset.content(), [
        ['Content-Security-Policy', POLICY],
        ['X-Content-Type-Options', 'nosniff'],
      ]),
  })
}
