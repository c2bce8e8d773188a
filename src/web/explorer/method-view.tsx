import type { DescMethod } from '@bufbuild/protobuf'
import type { VNode } from 'preact'
import { Markup } from '../components/markup.tsx'
import { useTitle } from '../components/page-title.ts'
import { CommentContext } from './draft-form.tsx'
import { accessOf, bindingsOf, firstParagraph, readMethodComment } from './method-facts.ts'
import { Prose } from './prose.tsx'
import { RequestForm } from './request-form.tsx'
import { type ApiSchema, fullNameOf, serviceHref } from './schema.ts'
import { Closed } from './type-view.tsx'

/** Comments have no links to files. */
export const NO_FILES = { page: '/-/api', raw: '/-/api' }

/** A method: what it does, who may call it, how it fails, and a form that calls it. */
export function MethodView({ method, schema }: { method: DescMethod; schema: ApiSchema }): VNode {
  const { prose, failures } = readMethodComment(schema.comment(fullNameOf(method)))
  useTitle(`${method.name}, API`)
  return (
    <CommentContext.Provider value={schema.comment}>
      <nav aria-label="Path">
        <a href="/-/api">API</a> / <a href={serviceHref(method.parent)}>{method.parent.name}</a>
      </nav>
      <h1>{method.name}</h1>
      <Markup text={prose} base={NO_FILES} />
      <Facts method={method} />
      {failures.length > 0 && (
        <details>
          <summary>Failures</summary>
          <dl>
            {failures.map(({ reasons, condition }) => [
              <dt key={`${reasons} ${condition} reason`}>
                <code>{reasons.join(', ')}</code>
              </dt>,
              <dd key={`${reasons} ${condition}`}>
                <Prose text={condition} />
                {reasons.map((reason) => (
                  <p key={reason} class="facts">
                    <Prose
                      text={firstParagraph(schema.comment(`branchline.v1.ErrorReason.${reason}`))}
                    />
                  </p>
                ))}
              </dd>,
            ])}
          </dl>
        </details>
      )}
      <Closed title={`Fields of the response: ${method.output.name}`} type={method.output} />
      <RequestForm method={method} registry={schema.registry} />
    </CommentContext.Provider>
  )
}

function Facts({ method }: { method: DescMethod }): VNode {
  const { sentences, scopes } = accessOf(method)
  const bindings = bindingsOf(method)
  return (
    <dl>
      <dt>Connect, gRPC and gRPC-Web</dt>
      <dd>
        <code>
          /{method.parent.typeName}/{method.name}
        </code>
        {method.methodKind !== 'unary' && `, ${method.methodKind.replace('_', ' ')}`}
      </dd>
      <dt>REST</dt>
      {bindings.length === 0 && <dd>none</dd>}
      {bindings.map(({ verb, template }) => (
        <dd key={`${verb} ${template}`}>
          <code>
            {verb} {template}
          </code>
        </dd>
      ))}
      <dt>Who may call it</dt>
      <dd>{sentences.join(' ')}</dd>
      <dt>Scopes of a personal access token</dt>
      <dd>{scopes.length === 0 ? 'none' : scopes.map((scope) => <code>{scope} </code>)}</dd>
    </dl>
  )
}
