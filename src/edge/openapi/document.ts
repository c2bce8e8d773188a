/**
 * The part of OpenAPI 3.1 that the document uses, as JSON (https://spec.openapis.org/oas/v3.1.1).
 */
export interface OpenApiDocument {
  readonly openapi: '3.1.1'
  readonly info: { readonly title: string; readonly description: string; readonly version: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly Tag[]
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  }
}

interface Tag {
  readonly name: string
  readonly description?: string
}

/**
 * The HTTP methods that OpenAPI supports and that need a route. OPTIONS and HEAD are answered
 * without one.
 */
export const OPERATION_METHODS = ['get', 'put', 'post', 'delete', 'patch', 'trace'] as const

type OperationMethod = (typeof OPERATION_METHODS)[number]

export type PathItem = { readonly [method in OperationMethod]?: Operation }

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary?: string
  readonly description?: string
  readonly deprecated?: true
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: RequestBody
  readonly responses: Readonly<Record<string, Response>>
  /**
   * Alternative credentials. The empty alternative means none. An empty list means that credentials
   * are ignored.
   */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required?: true
  readonly description?: string
  readonly deprecated?: true
  readonly schema: Schema
  readonly style?: 'form'
  readonly explode?: true
}

export interface RequestBody {
  readonly description?: string
  readonly required?: true
  readonly content: Content
}

export interface Response {
  readonly description: string
  readonly headers?: Readonly<
    Record<string, { readonly description?: string; readonly schema: Schema }>
  >
  readonly content?: Content
}

/** Content by media type. Without a schema the content is bytes. */
export type Content = Readonly<Record<string, { readonly schema?: Schema }>>

/** JSON Schema 2020-12. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly pattern?: string
  readonly contentEncoding?: 'base64'
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
  readonly readOnly?: true
  readonly writeOnly?: true
  readonly deprecated?: true
}

export interface SecurityScheme {
  readonly type: 'http'
  readonly scheme: string
  readonly description: string
}
