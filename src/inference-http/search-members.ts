/** What the web-search tool and the web plugin have in common (contract/gateway 2.4, 2.10). */
import { z } from 'zod'
import { stringMatching } from '../http/fields.js'

export const searchMode = z.enum([
  'instant',
  'fast',
  'auto',
  'deep-lite',
  'deep',
  'deep-reasoning',
  'turbo',
  'basic',
  'advanced',
])

export const userLocation = z.object({
  type: z.literal('approximate'),
  city: z.string().exactOptional(),
  region: z.string().exactOptional(),
  country: z.string().exactOptional(),
  timezone: z.string().exactOptional(),
})

const handles = z.array(z.string()).max(20).exactOptional()
const date = stringMatching(/^\d{4}-\d{2}-\d{2}/, 'must be a date').exactOptional()

export const xSearch = z.object({
  allowed_x_handles: handles,
  excluded_x_handles: handles,
  from_date: date,
  to_date: date,
  enable_image_understanding: z.boolean().exactOptional(),
  enable_video_understanding: z.boolean().exactOptional(),
})
