import type { ChatSettings } from '../webhooks/registration/webhook-values.ts'
import type { Hook } from '../webhooks/registration/webhooks.ts'
import { type ChatMessage, chatMessageOf } from './chat-messages.ts'

/** The length of the text of a message, which each chat accepts. */
const MAX_TEXT_CHARACTERS = 2000

/** The length of a title of Discord (https://discord.com/developers/docs/resources/message). */
const MAX_TITLE_CHARACTERS = 256

/** Writes a message as one kind of chat reads it. */
type Writer = (message: ChatMessage, settings: ChatSettings) => object

const WRITERS: Readonly<Record<string, Writer>> = {
  slack: slackMessage,
  discord: discordMessage,
  msteams: teamsMessage,
}

/**
 * Returns the JSON text that a webhook sends: the payload itself, or a message to a chat.
 *
 * @param type the type of the event.
 * @param payload JSON of compatible systems.
 */
export function formOf(hook: Pick<Hook, 'type' | 'chat'>, type: string, payload: string): string {
  const write = WRITERS[hook.type]
  if (!write) return payload
  const message = chatMessageOf(type, JSON.parse(payload))
  return JSON.stringify(write(message, JSON.parse(hook.chat) as ChatSettings))
}

/** See https://api.slack.com/reference/messaging/payload. */
function slackMessage({ title, url, text, color }: ChatMessage, settings: ChatSettings): object {
  const heading = url === '' ? slackText(title) : `<${url}|${slackText(title)}>`
  return {
    channel: settings.channel,
    ...(settings.username && { username: settings.username }),
    ...(settings.icon_url && { icon_url: settings.icon_url }),
    text: heading,
    // Names of people and channels in the text of others notify nobody.
    link_names: 0,
    attachments:
      text === ''
        ? []
        : [{ color: settings.color || colorOf(color), text: slackText(shorten(text)) }],
  }
}

/** Slack's control characters (https://api.slack.com/reference/surfaces/formatting#escaping). */
function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** See https://discord.com/developers/docs/resources/webhook#execute-webhook. */
function discordMessage(message: ChatMessage, settings: ChatSettings): object {
  const { title, url, text, color, author } = message
  return {
    ...(settings.username && { username: settings.username }),
    ...(settings.icon_url && { avatar_url: settings.icon_url }),
    // Names of people in the text of others notify nobody.
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: shorten(title, MAX_TITLE_CHARACTERS),
        description: discordText(shorten(text)),
        ...(url !== '' && { url }),
        color,
        author: { name: author },
      },
    ],
  }
}

/** Escapes what Discord would show as Markdown. */
function discordText(text: string): string {
  return text.replace(/[\\*_~`|<>[\]()#]/g, '\\$&')
}

/** See https://learn.microsoft.com/outlook/actionable-messages/message-card-reference. */
function teamsMessage({ title, url, text, color, author }: ChatMessage): object {
  return {
    '@type': 'MessageCard',
    '@context': 'https://schema.org/extensions',
    themeColor: colorOf(color).slice(1),
    title,
    summary: title,
    sections: [{ activityTitle: author, text: shorten(text), markdown: false }],
    potentialAction:
      url === ''
        ? []
        : [{ '@type': 'OpenUri', name: 'Open', targets: [{ os: 'default', uri: url }] }],
  }
}

/** @param color 0xRRGGBB. */
function colorOf(color: number): string {
  return `#${color.toString(16).padStart(6, '0')}`
}

function shorten(text: string, maxCharacters = MAX_TEXT_CHARACTERS): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1)}…`
}
