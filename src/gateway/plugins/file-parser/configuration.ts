/** `plugins.file-parser` of the configuration. */
import { z } from 'zod'
import { nanosPerMillion } from '../../../base/money.js'
import {
  baseUrl,
  camelCased,
  MILLION,
  nonEmptyText,
  orNull,
  perRequest,
  variableName,
} from '../../catalog/configuration/values.js'

const ocr = z
  .strictObject({
    url: baseUrl.describe('Address of the operation, such as https://api.mistral.ai/v1/ocr.'),
    api_key_env: orNull(variableName).describe(
      'Environment variable with its key; none is sent when absent.',
    ),
    model: nonEmptyText(200).default('mistral-ocr-latest'),
    price_per_page: perRequest
      .default('0')
      .transform((dollars) => nanosPerMillion(dollars)! / MILLION)
      .describe('Dollars that a caller is charged for each page; 0 when absent.'),
  })
  .transform(camelCased)

export const fileParserSection = z
  .strictObject({
    ocr: orNull(ocr).describe('The service that reads scans, in the shape of Mistral’s OCR operation.'),
  })
  .prefault({})
  .describe('Reads PDFs for models.')
