import { isIP } from 'node:net'

/** Where objects are on an S3 server. */
export interface S3Address {
  readonly bucket: string
  /** What all keys begin with: empty, or with a slash at its end. */
  readonly prefix: string
  /** Scheme, host, port and perhaps a path. */
  readonly endpoint: URL
  readonly region: string
  /** Whether the bucket is in the path, and not in the host name. */
  readonly isPathStyle: boolean
}

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const PREFIX = /^(?:[\w.-]+\/)*$/
const REGION = /^[\w-]{1,64}$/
const DEFAULT_REGION = 'us-east-1'
const PARAMETERS = ['endpoint', 'region', 'path-style', 'insecure']

/**
 * Parses `s3://bucket/prefix?endpoint=https://host&region=R&path-style=on`.
 *
 * @throws RangeError with a sentence for the operator.
 */
export function parseS3Address(text: string): S3Address {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 's3:') throw new RangeError('the address must begin with s3://')
  if (url.username !== '' || url.password !== '' || url.port !== '' || url.hash !== '')
    throw new RangeError('the address has a bucket, a prefix and parameters only')
  const bucket = url.hostname
  if (!BUCKET.test(bucket)) throw new RangeError(`"${bucket}" is no name of a bucket`)
  const prefix = url.pathname.replace(/^\/|\/$/g, '').replace(/(?<=.)$/, '/')
  if (!PREFIX.test(prefix) || /(^|\/)\.{1,2}\//.test(prefix))
    throw new RangeError(`"${url.pathname}" is no prefix: use letters, digits and ._-`)
  const unknown = [...url.searchParams.keys()].find((name) => !PARAMETERS.includes(name))
  if (unknown !== undefined) throw new RangeError(`the address has no parameter "${unknown}"`)
  const region = url.searchParams.get('region') ?? DEFAULT_REGION
  if (!REGION.test(region)) throw new RangeError(`"${region}" is no region`)
  return {
    bucket,
    prefix,
    region,
    endpoint: endpointOf(url.searchParams, region),
    isPathStyle: switchOf(url.searchParams, 'path-style', true),
  }
}

function endpointOf(parameters: URLSearchParams, region: string): URL {
  const text = parameters.get('endpoint') ?? `https://s3.${region}.amazonaws.com`
  const endpoint = URL.canParse(text) ? new URL(text) : undefined
  if (!endpoint || !/^https?:$/.test(endpoint.protocol) || endpoint.search || endpoint.hash)
    throw new RangeError(`"${text}" is no http or https URL`)
  if (endpoint.username !== '' || endpoint.password !== '')
    throw new RangeError('the endpoint has no user: the keys are in --object-storage-key-file')
  const isSafe = endpoint.protocol === 'https:' || isLoopback(endpoint.hostname)
  if (!isSafe && !switchOf(parameters, 'insecure', false))
    throw new RangeError('the endpoint must be https; insecure=on allows http')
  return endpoint
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))
}

function switchOf(parameters: URLSearchParams, name: string, usual: boolean): boolean {
  const value = parameters.get(name)
  if (value === null) return usual
  if (value !== 'on' && value !== 'off') throw new RangeError(`${name} is on or off`)
  return value === 'on'
}

/** Returns the URL of a key, or of the bucket. */
export function urlOf(address: S3Address, key?: string): URL {
  const { bucket, endpoint, isPathStyle, prefix } = address
  const url = new URL(endpoint)
  const base = endpoint.pathname.replace(/\/$/, '')
  const path = key === undefined ? '' : encodePath(`${prefix}${key}`)
  if (isPathStyle) url.pathname = `${base}/${bucket}${key === undefined ? '' : `/${path}`}`
  else {
    url.hostname = `${bucket}.${endpoint.hostname}`
    url.pathname = `${base}/${path}`
  }
  return url
}

/** Encodes a key for a path, as the signature needs it. */
export function encodePath(key: string): string {
  return key.split('/').map(encodeStrictly).join('/')
}

/** Encodes all but the unreserved characters of RFC 3986. */
export function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
