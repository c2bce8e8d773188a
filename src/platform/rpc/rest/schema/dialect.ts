import { type DescEnum, type DescService, hasOption, isFieldSet } from '@bufbuild/protobuf'
import {
  type Dialect as DialectOption,
  DialectSchema,
  dialect as dialectExtension,
  Errors,
  ErrorsSchema,
  Int64,
  Int64Schema,
  Names,
  NamesSchema,
  Query,
  QuerySchema,
  Slashes,
  SlashesSchema,
  Unset,
  UnsetSchema,
} from '#gen/rest/v1/rest_pb.ts'
import { type JsonDialect, standardJson } from '../../text/message-fields.ts'
import { optionOf } from './options.ts'

/** The options `rest.v1.Dialect` of a service, with every default filled in. */
export interface Dialect extends JsonDialect {
  /** Shape of error bodies. */
  readonly errors: 'status' | 'messageUrl'
  /** The `url` member of `messageUrl` error bodies. */
  readonly errorUrl: string
  /** HTTP status by RPC code, for codes without the standard status. */
  readonly errorStatus: ReadonlyMap<number, number>
  /** Success status of methods that return google.protobuf.Empty. */
  readonly emptyStatus: number
  /** Content-Type of JSON responses. */
  readonly contentType: string
  /** Whether a path may have trailing and doubled slashes. */
  readonly slashes: 'strict' | 'lenient'
  /**
   * Whether unknown query parameters are ignored or rejected, or also invalid values are accepted.
   */
  readonly query: 'ignoreUnknown' | 'strict' | 'lenient'
  /** Whether responses without an entity tag get a weak one. */
  readonly etag: boolean
}

/** The dialect of a service without options: proto3 JSON and google.rpc.Status. */
export const standardDialect: Dialect = Object.freeze<Dialect>({
  ...standardJson,
  errors: 'status',
  errorUrl: '',
  errorStatus: new Map(),
  emptyStatus: 200,
  contentType: 'application/json',
  slashes: 'strict',
  query: 'ignoreUnknown',
  etag: false,
})

const dialects = new WeakMap<DescService, Dialect>()

/**
 * Returns the dialect of a service, which may be that of another service on the same server.
 * Services with the same dialect share one object, so that compiled code can be cached by identity.
 * Values that `dialectProblems` reports count as unspecified.
 *
 * @param beside services on the same server.
 */
export function dialectOf(service: DescService, beside: Iterable<DescService> = []): Dialect {
  const { like } = optionOf(service, dialectExtension)
  const speaker = like === '' ? service : serviceNamed(like, beside)
  if (speaker === undefined || !hasOption(speaker, dialectExtension)) return standardDialect
  let dialect = dialects.get(speaker)
  if (dialect === undefined) {
    dialect = normalise(optionOf(speaker, dialectExtension))
    dialects.set(speaker, dialect)
  }
  return dialect
}

function serviceNamed(typeName: string, services: Iterable<DescService>): DescService | undefined {
  return [...services].find((service) => service.typeName === typeName)
}

function normalise(option: DialectOption): Dialect {
  return Object.freeze<Dialect>({
    names: option.names === Names.ORIGINAL ? 'original' : 'lowerCamel',
    int64: option.int64 === Int64.NUMBER ? 'number' : 'string',
    scalars: option.scalars === Unset.DEFAULT ? 'default' : 'omit',
    lists: collection(option.lists),
    maps: collection(option.maps),
    messages: option.messages === Unset.NULL ? 'null' : 'omit',
    errors: option.errors === Errors.MESSAGE_URL ? 'messageUrl' : 'status',
    errorUrl: option.errorUrl,
    errorStatus: new Map(option.errorStatus.map(({ code, status }) => [code, status])),
    emptyStatus: option.emptyStatus || standardDialect.emptyStatus,
    contentType: option.contentType || standardDialect.contentType,
    slashes: option.slashes === Slashes.LENIENT ? 'lenient' : 'strict',
    query:
      option.query === Query.STRICT
        ? 'strict'
        : option.query === Query.LENIENT
          ? 'lenient'
          : 'ignoreUnknown',
    etag: option.etag,
  })
}

function collection(unset: Unset): 'omit' | 'default' | 'null' {
  return unset === Unset.DEFAULT ? 'default' : unset === Unset.NULL ? 'null' : 'omit'
}

/** The google.rpc.Code values of errors. */
const errorCodes = { first: 1, last: 16 }

/** A valid Content-Type: printable ASCII, which cannot break the header section. */
const headerText = /^[\x20-\x7e]*$/

/**
 * Returns the mistakes in the dialect option of a service, each with the service and the field.
 *
 * @param beside services on the same server.
 */
export function dialectProblems(
  service: DescService,
  beside: Iterable<DescService> = [],
): string[] {
  if (!hasOption(service, dialectExtension)) return []
  const option = optionOf(service, dialectExtension)
  const problems: string[] = []
  const report = (field: string, text: string) =>
    problems.push(`${service.typeName}: (${dialectExtension.typeName}).${field}: ${text}`)

  // Enums are open. A descriptor set with newer options may have values that this code does not
  // know.
  const enums: [field: string, schema: DescEnum, number: number][] = [
    ['names', NamesSchema, option.names],
    ['int64', Int64Schema, option.int64],
    ['scalars', UnsetSchema, option.scalars],
    ['lists', UnsetSchema, option.lists],
    ['maps', UnsetSchema, option.maps],
    ['messages', UnsetSchema, option.messages],
    ['errors', ErrorsSchema, option.errors],
    ['slashes', SlashesSchema, option.slashes],
    ['query', QuerySchema, option.query],
  ]
  for (const [field, schema, number] of enums) {
    if (schema.value[number] === undefined)
      report(field, `${number} is not a value of ${schema.typeName}`)
  }
  if (option.scalars === Unset.NULL)
    report('scalars', 'a scalar without presence is OMIT or DEFAULT, never NULL')
  if (option.messages === Unset.DEFAULT)
    report('messages', 'an unset message is OMIT or NULL, never DEFAULT')

  const seen = new Set<number>()
  for (const { code, status } of option.errorStatus) {
    if (code < errorCodes.first || code > errorCodes.last)
      report('error_status', `${code} is not an error code`)
    if (status < 400 || status > 599) report('error_status', `${status} is not an error status`)
    if (seen.has(code)) report('error_status', `code ${code} occurs twice`)
    seen.add(code)
  }
  if (option.emptyStatus !== 0 && !isSuccessStatus(option.emptyStatus)) {
    report('empty_status', `${option.emptyStatus} is not a status from 200 to 399`)
  }
  if (!headerText.test(option.contentType)) report('content_type', 'not a header value')
  if (option.like !== '') for (const text of likeProblems(option, beside)) report('like', text)
  return problems
}

/**
 * Returns the mistakes in `like`. The named service must have its own dialect, so there are no
 * cycles.
 */
function likeProblems(option: DialectOption, beside: Iterable<DescService>): string[] {
  const problems: string[] = []
  const others = DialectSchema.fields.filter(
    (field) => field.name !== 'like' && isFieldSet(option, field),
  )
  if (others.length > 0)
    problems.push(`stands alone, without ${others.map(({ name }) => name).join(', ')}`)
  const named = serviceNamed(option.like, beside)
  if (named === undefined) problems.push(`no service ${option.like} is served`)
  else if (optionOf(named, dialectExtension).like !== '')
    problems.push(`${option.like} is like another one itself`)
  return problems
}

/** Returns whether a status means success: 200 to 399, including redirects. */
export function isSuccessStatus(status: number): boolean {
  return status >= 200 && status <= 399
}
