import type { Catalogue } from '../language/catalogue.ts'

/** Texts of notifications, in French. */
export const french = {
  'Unread @state': 'Non lues',
  'Pinned @state': 'Épinglées',
  'Read @state': 'Lues',
  'All @notifications': 'Toutes',
  'you were mentioned': 'vous avez été mentionné',
  'your review is requested': 'votre revue est demandée',
  'you are assigned': 'vous êtes assigné',
  'you take part': 'vous participez',
  'you follow it': 'vous y êtes abonné',
  'Notifications are for signed-in users:':
    'Les notifications sont réservées aux utilisateurs connectés :',
  'No notifications.': 'Aucune notification.',
  'Mark all as read': 'Tout marquer comme lu',
  'All notifications are marked as read.': 'Toutes les notifications sont marquées comme lues.',
  'unread @state': 'non lue',
  'pinned @notification': 'épinglée',
  'Mark as read': 'Marquer comme lue',
  'Mark as unread': 'Marquer comme non lue',
  'Mark as read: {title}': 'Marquer comme lue : {title}',
  'Mark as unread: {title}': 'Marquer comme non lue : {title}',
  'Pin: {title}': 'Épingler : {title}',
  'No notifications of memos.': 'Aucune notification de mémo.',
  'The memo is not there any more.': 'Le mémo n’existe plus.',
  Somebody: 'Quelqu’un',
  '{sender} commented: {text}': '{sender} a commenté : {text}',
  '{sender} mentioned you: {text}': '{sender} vous a mentionné : {text}',
  'Archive: {text}': 'Archiver : {text}',
} satisfies Catalogue
