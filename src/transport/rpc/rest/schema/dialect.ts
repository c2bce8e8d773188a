import type { DescEnum, DescService } from '@bufbuild/protobuf'
import { getOption, hasOption, isFieldSet } from '@bufbuild/protobuf'
import type { Dialect as DialectOption } from '#gen/branchline/rest/v1/rest_pb.ts'
import {
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
} from '#gen/branchline/rest/v1/rest_pb.ts'
import type { JsonDialect } from '../text/json-dialect.ts'

/** The options `branchline.rest.v1.Dialect` of a service, with every default filled in. */
export interface Dialect extends JsonDialect {
  /** Shape of error bodies. */
  readonly errors: 'status' | 'messageUrl'
  /** The `url` member of `messageUrl` error bodies. */
  readonly errorUrl: string
  /** HTTP status by RPC code, for codes that do not use the standard one. */
  readonly errorStatus: ReadonlyMap<number, number>
  /** Success status of methods that answer google.protobuf.Empty. */
  readonly emptyStatus: number
  /** Content-Type of JSON answers. */
  readonly contentType: string
  /** Whether trailing and doubled slashes are forgiven. */
  readonly slashes: 'strict' | 'lenient'
  /** How query parameters are read. */
  readonly query: 'ignoreUnknown' | 'strict' | 'lenient'
  /** Whether answers without an entity tag get a weak one. */
  readonly etag: boolean
}

/** The dialect of a service without options: canonical proto3 JSON and google.rpc.Status. */
export const standardDialect: Dialect = Object.freeze<Dialect>({
  names: 'lowerCamel',
  int64: 'string',
  scalars: 'omit',
  lists: 'omit',
  maps: 'omit',
  messages: 'omit',
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
 * The dialect of a service, which may be that of one of the services `beside` it. Always the same
 * object for the same service and for those like it, and `standardDialect` for a service without
 * the option, so that whatever is compiled for a dialect can be cached by identity. Values that
 * `dialectProblems` reports count as unspecified.
 */
export function dialectOf(service: DescService, beside: Iterable<DescService> = []): Dialect {
  const { like } = getOption(service, dialectExtension)
  const speaker = like === '' ? service : serviceNamed(like, beside)
  if (speaker === undefined || !hasOption(speaker, dialectExtension)) return standardDialect
  let dialect = dialects.get(speaker)
  if (dialect === undefined) {
    dialect = normalise(getOption(speaker, dialectExtension))
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

/** The google.rpc.Code values that an error can have: all but OK. */
const errorCodes = { first: 1, last: 16 }

/**
 * What a Content-Type can hold: visible ASCII and spaces, so that it can never break the header
 * section.
 */
const headerText = /^[\x20-\x7e]*$/

/**
 * What is wrong with the dialect option of a service, one sentence each naming service and field.
 * Usually nothing. `beside` are the services that it is served with.
 */
export function dialectProblems(
  service: DescService,
  beside: Iterable<DescService> = [],
): string[] {
  if (!hasOption(service, dialectExtension)) return []
  const option = getOption(service, dialectExtension)
  const problems: string[] = []
  const report = (field: string, text: string) =>
    problems.push(`${service.typeName}: (${dialectExtension.typeName}).${field}: ${text}`)

  // Enums are open: a descriptor set made with a newer options file may hold values this code has
  // no meaning for.
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
 * One step and no more: whoever reads a schema finds the dialect where `like` sends them, and there
 * are no cycles.
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
  else if (getOption(named, dialectExtension).like !== '')
    problems.push(`${option.like} is like another one itself`)
  return problems
}

/** Whether a status can stand for a call that succeeded: 200 to 399, redirects included. */
export function isSuccessStatus(status: number): boolean {
  return status >= 200 && status <= 399
}
