import type { DescField, DescMethod } from '@bufbuild/protobuf'
import type { Dialect } from './dialect.ts'
import type { Template } from './template.ts'

/** A valid rule that maps HTTP requests to an RPC. */
export interface Binding {
  readonly rpc: DescMethod
  /** The dialect of the service. */
  readonly dialect: Dialect
  /** An HTTP method in upper case, or `*` for any. */
  readonly httpMethod: string
  readonly template: Template
  /**
   * Indexes of the segments before `**` that are numbers. Empty unless the dialect accepts other
   * text as 0.
   */
  readonly numberSegments: readonly number[]
  /** `*` for the whole request, the proto name of a request field, or empty for no body. */
  readonly body: string
  /** The proto name of a response field, or empty for the whole response. */
  readonly responseBody: string
  /** Response field that replaces `responseBody` whenever it is set. */
  readonly singleBody?: DescField
  /** Success status: that of the method, or that of the dialect for google.protobuf.Empty, or 200. */
  readonly successStatus: number
  /** Whether successful responses never have content. */
  readonly isBodiless: boolean
  /** Set if responses have paging headers. */
  readonly page?: Paging
  /** Response headers copied from fields of the response. */
  readonly headers: readonly HeaderField[]
}

/** The integer fields for `X-Total-Count` and `Link`. */
export interface Paging {
  /** Response field with the number of all results. */
  readonly total: DescField
  /** Request field with the 1-based page. */
  readonly page: DescField
  /** Request field with the requested page size. */
  readonly limit: DescField
  /** Response field with the applied page size, which replaces `limit`. */
  readonly appliedLimit?: DescField
}

/** A response header and the scalar response field with its value. */
export interface HeaderField {
  readonly name: string
  readonly field: DescField
}

/** Returns the name of an RPC as in its RPC path: `package.Service/Method`. */
export function rpcName(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`
}
