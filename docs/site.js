// The search reads a leading dash as "without this word": remove it, so that flags such as --from-cluster are found.
const SEARCH_QUERY = 2;
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
  if (message?.type === SEARCH_QUERY && typeof message.data === "string") {
    message = { ...message, data: message.data.replace(/(^|\s)-+(?=\S)/g, "$1") };
  }
  return post.call(this, message, ...rest);
};
