// A client of the rangegate API in one file, in C# 7 and on what .NET Standard 2.0 has: it is for mono 6 and for .NET 8 or newer, and needs no
// package. Copy it, and change what you like.
//
//     var gateway = new Gateway("http://127.0.0.1:8080/api/v2/pos", rangeId, token);
//     var session = await gateway.Sell("receipt-17-line-2", new Order { CustomerName = "Jo Smith", LaneId = lane, GroupId = group, Duration = 60 });
//     var page = await gateway.Events(cursor, wait: 50);
//     var happened = Webhook.Verify(secret, id, timestamp, signatures, body);

using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Security.Cryptography;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace RangeGate
{
    /// <summary>What is sold. Null leaves a key out.</summary>
    [DataContract]
    public sealed class Order
    {
        [DataMember(Name = "customer_name")] public string CustomerName;
        [DataMember(Name = "lane_id")] public string LaneId;
        [DataMember(Name = "group_id")] public string GroupId;
        [DataMember(Name = "duration")] public int Duration; // minutes, 1 to 480
        [DataMember(Name = "enable_purchasing")] public bool EnablePurchasing;
        [DataMember(Name = "auto_start", EmitDefaultValue = false)] public bool? AutoStart; // null: true
        [DataMember(Name = "external_id", EmitDefaultValue = false)] public string ExternalId;
        [DataMember(Name = "metadata", EmitDefaultValue = false)] public Dictionary<string, string> Metadata;
    }

    /// <summary>A session on a lane. Keys that are not named here are ignored.</summary>
    [DataContract]
    public sealed class Session
    {
        [DataMember(Name = "session_id")] public string Id;
        [DataMember(Name = "lane_id")] public string LaneId;
        [DataMember(Name = "group_id")] public string GroupId;
        [DataMember(Name = "duration")] public int Duration; // minutes sold in all
        [DataMember(Name = "began_at")] public string BeganAt; // null until the time runs
        [DataMember(Name = "created_at")] public string CreatedAt;
        [DataMember(Name = "minutes_remaining")] public decimal? MinutesRemaining;
        [DataMember(Name = "enable_purchasing")] public bool EnablePurchasing;
        [DataMember(Name = "external_id")] public string ExternalId;
        [DataMember(Name = "metadata")] public Dictionary<string, string> Metadata;
    }

    /// <summary>What happened: the body of a webhook request, and the payload of an event in the log.</summary>
    [DataContract]
    public sealed class Happening
    {
        [DataMember(Name = "event")] public string Kind;
        [DataMember(Name = "session_id")] public string SessionId;
        [DataMember(Name = "lane_id")] public string LaneId;
        [DataMember(Name = "items")] public Item[] Items; // of a purchaseRequest
    }

    [DataContract]
    public sealed class Item
    {
        [DataMember(Name = "id")] public string Id; // "time" is lane time
        [DataMember(Name = "qty")] public int Quantity; // of time, minutes
    }

    [DataContract]
    public sealed class LoggedEvent
    {
        [DataMember(Name = "cursor")] public string Cursor;
        [DataMember(Name = "id")] public string Id; // webhook-id is "msg_" and this
        [DataMember(Name = "occurred_at")] public string OccurredAt;
        [DataMember(Name = "payload")] public Happening Payload;
    }

    [DataContract]
    public sealed class EventPage
    {
        [DataMember(Name = "events")] public LoggedEvent[] Events;
        [DataMember(Name = "next")] public string Next; // the cursor to go on from
    }

    [DataContract]
    sealed class Refusal
    {
        [DataMember(Name = "error")] public string Error;
        [DataMember(Name = "code")] public string Code;
        [DataMember(Name = "trace_id")] public string TraceId;
        [DataMember(Name = "fields")] public Dictionary<string, string> Fields;
        [DataMember(Name = "oldest")] public string Oldest;
    }

    /// <summary>An answer that is no success. With status 0 there was none: nobody knows whether it was done, and the same key may try
    /// again. So it is with the code not_the_gateway: something in between has answered, a sign-in page of a network say.</summary>
    public sealed class GatewayException : Exception
    {
        public readonly int Status;
        public readonly string Code;
        public readonly string TraceId; // quote it when you ask the operator
        public readonly IReadOnlyDictionary<string, string> Fields; // by name, what is wrong with each
        public readonly string Oldest; // of cursor_gone: the cursor to go on from

        internal GatewayException(int status, string code, string message, string traceId = null, Dictionary<string, string> fields = null,
            string oldest = null)
            : base(code + ": " + message)
        {
            Status = status;
            Code = code;
            TraceId = traceId;
            Fields = fields ?? new Dictionary<string, string>();
            Oldest = oldest;
        }
    }

    /// <summary>The API for one range. Threads may share it.</summary>
    public sealed class Gateway
    {
        // The gateway redirects nobody, and the token is for no other host.
        static readonly HttpClient Http = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false }) { Timeout = Timeout.InfiniteTimeSpan };
        static readonly Random Chance = new Random();
        readonly string url, rangeId, token;
        readonly TimeSpan patience; // after it a request is not repeated any more

        public Gateway(string url, string rangeId, string token, TimeSpan? patience = null)
        {
            this.url = url;
            this.rangeId = rangeId;
            this.token = token;
            this.patience = patience ?? TimeSpan.FromMinutes(2);
        }

        /// <summary>Sells time on a lane. The key names this sale for good: make it of the receipt line.</summary>
        public Task<Session> Sell(string key, Order order) => Call<Session>("POST", "/sessions", key, Json.Write(order));

        public Task<Session> Session(string id) => Call<Session>("GET", "/sessions/" + id);

        /// <summary>Adds minutes, or takes them away where they are negative.</summary>
        public Task Extend(string key, string id, int minutes) => Call<Session>("POST", "/sessions/" + id + "/modify?time=" + Text(minutes), key);

        public Task Pause(string key, string id) => Call<Session>("POST", "/sessions/" + id + "/pause", key);

        public Task Resume(string key, string id) => Call<Session>("POST", "/sessions/" + id + "/resume", key);

        public Task Stop(string key, string id) => Call<Session>("POST", "/sessions/" + id + "/stop", key);

        /// <summary>Reads the next events behind the cursor, oldest first. Without any it waits that many seconds, 60 at most. Save Next
        /// together with what you did about the events.</summary>
        public Task<EventPage> Events(string cursor, int wait = 0) =>
            Call<EventPage>("GET", "/events?after=" + cursor + "&wait=" + Text(wait), timeout: 10 + wait);

        /// <summary>A number as the API reads it, wherever the program runs: some cultures have a minus of their own.</summary>
        static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);

        /// <summary>Returns the answer of any path, null if it has no body, and repeats the request as docs/integrators.md says. A POST
        /// without a key is never repeated. body is bytes, because a repeat has to be the same to the byte.</summary>
        public async Task<T> Call<T>(string method, string path, string key = null, byte[] body = null, int timeout = 10) where T : class
        {
            var end = DateTime.UtcNow + patience;
            for (int tries = 1, defects = 0; ; tries++)
            {
                var answer = await Send(method, path, key, body, timeout);
                if (answer.Status >= 200 && answer.Status < 300)
                    return Result<T>(answer, method, path);
                if (answer.Status == 500) defects++;
                var pause = PauseAfter(answer, tries, defects);
                if (pause == null || (method != "GET" && key == null) || DateTime.UtcNow + pause > end)
                    throw answer.Refused();
                await Task.Delay(pause.Value);
            }
        }

        /// <summary>What a success says. A sale is 201 with the session and any other change never 200, with which the sign-in page of a
        /// network answers; what is read is 200 with JSON.</summary>
        static T Result<T>(Answer answer, string method, string path) where T : class
        {
            var sells = method == "POST" && path == "/sessions";
            T result = null;
            var read = (answer.Status == 200) == (method == "GET");
            try
            {
                if (answer.Body.Length > 0) result = Json.Read<T>(answer.Body);
            }
            catch (SerializationException) // of something in between
            {
                read = false;
            }
            if (!read || sells && (answer.Status != 201 || string.IsNullOrEmpty((result as Session)?.Id)))
                throw new GatewayException(answer.Status, "not_the_gateway", "the answer is not one of the gateway");
            return result;
        }

        /// <summary>How long to wait before the same request is sent again. Null: the answer would be the same. No two tills wait equally
        /// long, so that they do not all come back at once.</summary>
        static TimeSpan? PauseAfter(Answer answer, int tries, int defects)
        {
            double more;
            lock (Chance) more = Chance.NextDouble();
            var backoff = TimeSpan.FromSeconds(Math.Min(1 << Math.Min(tries - 1, 5), 30) * (1 + more / 2));
            switch (answer.Status)
            {
                case 429:
                case 503:
                    return answer.RetryAfter > TimeSpan.Zero ? answer.RetryAfter + TimeSpan.FromSeconds(more) : backoff;
                case 0:
                case 408:
                case 502:
                case 504:
                    return backoff;
                case 500:
                    return defects == 1 ? backoff : (TimeSpan?)null;
                default:
                    return null;
            }
        }

        async Task<Answer> Send(string method, string path, string key, byte[] body, int timeout)
        {
            using (var request = new HttpRequestMessage(new HttpMethod(method), url + path)) // one request is sent once
            using (var limit = new CancellationTokenSource(TimeSpan.FromSeconds(timeout)))
            {
                request.Headers.Add("range-id", rangeId);
                request.Headers.Add("token", token);
                if (key != null) request.Headers.Add("Idempotency-Key", key);
                if (body != null)
                {
                    request.Content = new ByteArrayContent(body);
                    request.Content.Headers.ContentType = new MediaTypeHeaderValue("application/json");
                }
                try
                {
                    using (var response = await Http.SendAsync(request, limit.Token))
                        return new Answer
                        {
                            Status = (int)response.StatusCode,
                            RetryAfter = response.Headers.RetryAfter?.Delta,
                            Body = await response.Content.ReadAsByteArrayAsync(),
                        };
                }
                catch (Exception e) when (e is HttpRequestException || e is OperationCanceledException || e is IOException || e is WebException)
                {
                    return new Answer { Body = new byte[0], Failure = e.GetBaseException().Message };
                }
            }
        }

        sealed class Answer
        {
            public int Status; // 0: there was none
            public TimeSpan? RetryAfter;
            public byte[] Body;
            public string Failure;

            public GatewayException Refused()
            {
                if (Status == 0) return new GatewayException(0, "no_answer", Failure);
                try
                {
                    var refusal = Json.Read<Refusal>(Body);
                    if (refusal?.Code != null)
                        return new GatewayException(Status, refusal.Code, refusal.Error, refusal.TraceId, refusal.Fields, refusal.Oldest);
                }
                catch (SerializationException) // of a proxy in between
                {
                }
                return new GatewayException(Status, "status_" + Status, "the answer is not one of the gateway");
            }
        }
    }

    /// <summary>A request to the webhook that did not come from the gateway, or not now. Answer 401.</summary>
    public sealed class ForgedException : Exception
    {
        internal ForgedException(string message) : base(message) { }
    }

    public static class Webhook
    {
        /// <summary>Returns the event of a request to the webhook. id, timestamp and signatures are its headers webhook-id,
        /// webhook-timestamp and webhook-signature, body the bytes as they came in, secret the operator's whsec_… text.</summary>
        public static Happening Verify(string secret, string id, string timestamp, string signatures, byte[] body) =>
            Verify(new[] { secret }, id, timestamp, signatures, body);

        /// <summary>The same with the old and the new secret, while it is being replaced.</summary>
        public static Happening Verify(IEnumerable<string> secrets, string id, string timestamp, string signatures, byte[] body)
        {
            if (!long.TryParse(timestamp, NumberStyles.None, CultureInfo.InvariantCulture, out var sent) ||
                Math.Abs((double)DateTimeOffset.UtcNow.ToUnixTimeSeconds() - sent) > 300)
                throw new ForgedException("the timestamp is missing, or more than five minutes off");
            foreach (var secret in secrets)
            {
                using (var mac = new HMACSHA256(Convert.FromBase64String(secret.Substring("whsec_".Length))))
                {
                    var signed = Encoding.UTF8.GetBytes(id + "." + timestamp + ".").Concat(body).ToArray();
                    var right = "v1," + Convert.ToBase64String(mac.ComputeHash(signed));
                    foreach (var signature in (signatures ?? "").Split(' ')) // two while the secret is being replaced
                        if (SameText(signature, right))
                            return Json.Read<Happening>(body);
                }
            }
            throw new ForgedException("no signature is of a secret of ours");
        }

        /// <summary>Compares in a time that does not depend on where the texts differ.</summary>
        static bool SameText(string a, string b)
        {
            var difference = a.Length ^ b.Length;
            for (var i = 0; i < Math.Min(a.Length, b.Length); i++) difference |= a[i] ^ b[i];
            return difference == 0;
        }
    }

    public static class Json
    {
        static readonly DataContractJsonSerializerSettings Settings = new DataContractJsonSerializerSettings { UseSimpleDictionaryFormat = true };

        public static T Read<T>(byte[] text) where T : class
        {
            using (var stream = new MemoryStream(text))
                return (T)new DataContractJsonSerializer(typeof(T), Settings).ReadObject(stream);
        }

        public static byte[] Write<T>(T value)
        {
            using (var stream = new MemoryStream())
            {
                new DataContractJsonSerializer(typeof(T), Settings).WriteObject(stream, value);
                return stream.ToArray();
            }
        }
    }
}
