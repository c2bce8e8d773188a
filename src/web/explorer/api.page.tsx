import type { DescMessage, DescMethod, DescService } from '@bufbuild/protobuf'
import type { VNode } from 'preact'
import { useContext, useMemo, useState } from 'preact/hooks'
import { useApi } from '../api/client.ts'
import { Field } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { NotFound, useTitle } from '../components/page.tsx'
import { plural, T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { isComposite, valueTypeOf } from './draft.ts'
import { CommentContext, Prose, typeText } from './draft-form.tsx'
import { accessOf, bindingsOf, firstParagraph } from './method-facts.ts'
import { RequestForm } from './request-form.tsx'
import { type ApiSchema, fullNameOf, methodHref, serviceHref } from './schema.ts'

/** The API: all services, one service, or one method. */
export function ApiPage({ rest, query }: PageProps): VNode {
  const api = useApi()
  const schema = useLoad(() => api.schema(), [])
  return <Show of={schema}>{(loaded) => <Part schema={loaded} rest={rest} query={query} />}</Show>
}

function Part({
  schema,
  rest,
  query,
}: Pick<PageProps, 'rest' | 'query'> & { schema: ApiSchema }): VNode {
  const [serviceName, methodName] = rest
  if (serviceName === undefined) return <Services schema={schema} query={query} />
  const service = schema.services.find(({ typeName }) => typeName === serviceName)
  if (methodName === undefined)
    return service ? <ServiceView schema={schema} service={service} /> : <NotFound />
  const method = service?.methods.find(({ name }) => name === methodName)
  return method && rest.length === 2 ? <MethodView schema={schema} method={method} /> : <NotFound />
}

/** All services, or the methods that somebody looks for. */
function Services({ schema, query }: { schema: ApiSchema; query: URLSearchParams }): VNode {
  useTitle(t('API'))
  const [sought, setSought] = useState(query.get('q') ?? '')
  const seek = (text: string) => {
    setSought(text)
    // The way back leads to the same search.
    history.replaceState(
      history.state,
      '',
      text === '' ? '/-/api' : `/-/api?q=${encodeURIComponent(text)}`,
    )
  }
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean)
  const methods = useMemo(
    () =>
      schema.services.flatMap((service) =>
        service.methods.map((method) => ({ method, text: searchedText(schema, method) })),
      ),
    [schema],
  )
  const found = methods
    .filter(({ text }) => words.every((word) => text.includes(word)))
    .map(({ method }) => method)
  return (
    <>
      <h1>{t('API')}</h1>
      <p>
        <T
          text="Every method is available over Connect, gRPC, gRPC-Web and, with its paths, over REST. Code generators take {protos}, {descriptors} or {openapi}."
          protos={<a href="/schema/branchline-proto.tar.gz">{t('the proto files')}</a>}
          descriptors={<a href="/schema/branchline.binpb">{t('the descriptors')}</a>}
          openapi={<a href="/openapi.json">{t('the OpenAPI document')}</a>}
        />
      </p>
      <search>
        <Field
          label={t('Search methods')}
          hint={t('Words of a name, a path, a comment or a reason')}
          type="search"
          value={sought}
          onInput={(event) => seek(event.currentTarget.value)}
        />
      </search>
      <p role="status">{plural(found.length, '{count} method', '{count} methods')}</p>
      {words.length > 0 ? (
        <MethodList schema={schema} methods={found} />
      ) : (
        <ServiceList schema={schema} />
      )}
    </>
  )
}

function ServiceList({ schema }: { schema: ApiSchema }): VNode {
  return (
    <ul class="list">
      {schema.services.map((service) => (
        <li key={service.typeName}>
          <a href={serviceHref(service)}>{service.name}</a>
          <p>
            <Prose text={firstParagraph(schema.comment(service.typeName))} />
          </p>
        </li>
      ))}
    </ul>
  )
}

/** Text that a search looks at. */
function searchedText(schema: ApiSchema, method: DescMethod): string {
  const name = fullNameOf(method)
  const paths = bindingsOf(method).map(({ verb, template }) => `${verb} ${template}`)
  const reasons = schema.failures(name).map(({ reason }) => reason)
  return [name, ...paths, schema.comment(name), ...reasons].join(' ').toLowerCase()
}

function ServiceView({ schema, service }: { schema: ApiSchema; service: DescService }): VNode {
  useTitle(t('{name}, API', { name: service.name }))
  return (
    <>
      <nav aria-label={t('Path')}>
        <a href="/-/api">{t('API')}</a>
      </nav>
      <h1>{service.name}</h1>
      <p class="facts">
        <code>{service.typeName}</code>
      </p>
      <Markup text={schema.comment(service.typeName)} base={NO_FILES} />
      <MethodList schema={schema} methods={service.methods} />
    </>
  )
}

function MethodList(props: { schema: ApiSchema; methods: readonly DescMethod[] }): VNode {
  const { schema, methods } = props
  if (methods.length === 0) return <p>{t('No methods.')}</p>
  return (
    <ul class="list">
      {methods.map((method) => {
        const [binding] = bindingsOf(method)
        return (
          <li key={fullNameOf(method)}>
            <a href={methodHref(method)}>
              {method.parent.name}.{method.name}
            </a>
            <p>
              <Prose text={firstParagraph(schema.comment(fullNameOf(method)))} />
            </p>
            {binding && (
              <p class="facts">
                <code>
                  {binding.verb} {binding.template}
                </code>
              </p>
            )}
          </li>
        )
      })}
    </ul>
  )
}

/** Comments have no links to files. */
const NO_FILES = { page: '/-/api', raw: '/-/api' }

/** A method: what it does, who may call it, how it fails, and a form that calls it. */
function MethodView({ method, schema }: { method: DescMethod; schema: ApiSchema }): VNode {
  const failures = schema.failures(fullNameOf(method))
  useTitle(t('{name}, API', { name: method.name }))
  return (
    <CommentContext.Provider value={schema.comment}>
      <nav aria-label={t('Path')}>
        <a href="/-/api">{t('API')}</a> /{' '}
        <a href={serviceHref(method.parent)}>{method.parent.name}</a>
      </nav>
      <h1>{method.name}</h1>
      <Markup text={schema.comment(fullNameOf(method))} base={NO_FILES} />
      <Facts method={method} />
      {failures.length > 0 && (
        <details>
          <summary>{t('Failures')}</summary>
          <dl>
            {failures.map(({ reason, condition }) => [
              <dt key={`${reason} name`}>
                <code>{reason}</code>
              </dt>,
              <dd key={reason}>
                <Prose text={condition} />
              </dd>,
            ])}
          </dl>
          <p>
            {t('Every method may also fail with {reasons}.', {
              reasons: schema.generalFailures.map(({ reason }) => reason).join(', '),
            })}
          </p>
        </details>
      )}
      <Closed
        title={t('Fields of the response: {type}', { type: method.output.name })}
        type={method.output}
      />
      <RequestForm method={method} registry={schema.registry} />
    </CommentContext.Provider>
  )
}

const STREAMS = {
  client_streaming: t('client streaming'),
  server_streaming: t('server streaming'),
  bidi_streaming: t('bidi streaming'),
} as const

function Facts({ method }: { method: DescMethod }): VNode {
  const { sentences, scopes } = accessOf(method)
  const bindings = bindingsOf(method)
  return (
    <dl>
      <dt>{t('Connect, gRPC and gRPC-Web')}</dt>
      <dd>
        <code>
          /{method.parent.typeName}/{method.name}
        </code>
        {method.methodKind !== 'unary' && `, ${STREAMS[method.methodKind]}`}
      </dd>
      <dt>{t('REST')}</dt>
      {bindings.length === 0 && <dd>{t('none @path')}</dd>}
      {bindings.map(({ verb, template }) => (
        <dd key={`${verb} ${template}`}>
          <code>
            {verb} {template}
          </code>
        </dd>
      ))}
      <dt>{t('Who may call it')}</dt>
      <dd>{sentences.join(' ')}</dd>
      <dt>{t('Scopes of a personal access token')}</dt>
      <dd>
        {scopes.length === 0 ? t('none @scope') : scopes.map((scope) => <code>{scope} </code>)}
      </dd>
    </dl>
  )
}

/** The fields of a type with their comments. Types of fields open when somebody asks for them. */
function TypeView({ type }: { type: DescMessage }): VNode {
  const comment = useContext(CommentContext)
  if (type.fields.length === 0) return <p>{t('The message has no fields.')}</p>
  return (
    <dl>
      {type.fields.map((field) => {
        const inner = valueTypeOf(field)
        return [
          <dt key={`${field.name} name`}>
            <code>{field.name}</code> {typeText(field)}
          </dt>,
          <dd key={field.name}>
            <Prose text={firstParagraph(comment(`${type.typeName}.${field.name}`))} />
            {typeof inner === 'object' &&
              inner.kind === 'enum' &&
              ` ${t('One of {values}.', { values: inner.values.map(({ name }) => name).join(', ') })}`}
            {isComposite(inner) && (
              <Closed title={t('Fields of {type}', { type: typeText(field) })} type={inner} />
            )}
          </dd>,
        ]
      })}
    </dl>
  )
}

/** The fields of a type, which may contain itself, so that they are made when they are opened. */
function Closed({ title, type }: { title: string; type: DescMessage }): VNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && <TypeView type={type} />}
    </details>
  )
}
