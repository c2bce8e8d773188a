import type { ListedObject, UnfinishedUpload } from '../object-store.ts'

/** The texts of an XML element, wherever it stands. Answers of S3 have no attributes that count. */
function textsOf(xml: string, name: string): string[] {
  const element = new RegExp(`<${name}(?:\\s[^>]*)?>([^<]*)</${name}>`, 'g')
  return [...xml.matchAll(element)].map(([, text = '']) => decodeEntities(text))
}

/** Returns the text of an element; undefined without one. */
export function textOf(xml: string, name: string): string | undefined {
  return textsOf(xml, name)[0]
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
])

function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hex, name) => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal))
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16))
    return ENTITIES.get(name) ?? whole
  })
}

/** Returns the code of an error, also of one in an answer with status 200; undefined for no error. */
export function errorCodeOf(xml: string): string | undefined {
  return /<Error[\s>]/.test(xml) ? (textOf(xml, 'Code') ?? 'Unknown') : undefined
}

/** A page of a list. */
interface ListPage {
  readonly objects: readonly ListedObject[]
  /** Undefined for the last page. */
  readonly next: string | undefined
}

/** Reads an answer of ListObjectsV2 whose keys are encoded as in URLs. */
export function listPageOf(xml: string): ListPage {
  const objects = [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, object = '']) => ({
    key: decodeURIComponent((textOf(object, 'Key') ?? '').replaceAll('+', ' ')),
    bytes: Number(textOf(object, 'Size')),
    timeMs: Date.parse(textOf(object, 'LastModified') ?? ''),
  }))
  const isTruncated = textOf(xml, 'IsTruncated') === 'true'
  return { objects, next: isTruncated ? textOf(xml, 'NextContinuationToken') : undefined }
}

/** Reads an answer of ListMultipartUploads. */
export function unfinishedUploadsOf(xml: string): UnfinishedUpload[] {
  return [...xml.matchAll(/<Upload>(.*?)<\/Upload>/gs)].map(([, upload = '']) => ({
    key: textOf(upload, 'Key') ?? '',
    uploadId: textOf(upload, 'UploadId') ?? '',
    timeMs: Date.parse(textOf(upload, 'Initiated') ?? ''),
  }))
}
